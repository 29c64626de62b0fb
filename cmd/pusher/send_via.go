package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"pusher/internal/cli"
	"pusher/internal/gateway"
	"pusher/internal/push"
)

// credentialVariable holds a producer's credential, where no file does.
const credentialVariable = "GATEWAY_CREDENTIAL"

// viaTimeout is that of one request to the gateway.
const viaTimeout = 30 * time.Second

// sending is how `pusher send` goes about it.
type sending struct {
	dry, show bool
	via       door
}

// door is the gateway that events go through; an empty URL: none.
type door struct {
	url        string
	credential string // a file
}

// errNoCredential says what the gateway will ask for.
var errNoCredential = errors.New("--via needs a credential: give --credential-file, or set " + credentialVariable)

// send has the records accepted in batches. A batch that is asked for again is accepted once; the next one waits for it.
func (d door) send(ctx context.Context, w *cli.World, records []push.Record) error {
	credential, err := d.secret(w)
	if err != nil {
		return err
	}
	client := &gateway.Client{URL: d.url, Credential: credential, HTTP: &http.Client{Timeout: viaTimeout}}
	for at := 0; at < len(records); at += sendBatch {
		part := records[at:min(at+sendBatch, len(records))]
		events := make([][]byte, len(part))
		for i, r := range part {
			events[i] = r.Value
		}
		if _, err := client.Send(ctx, events, ""); err != nil {
			return fmt.Errorf("%d of %d accepted: %w", at, len(records), err)
		}
	}
	_, err = fmt.Fprintf(w.Stdout, "%s accepted by %s\n", cli.Count(len(records), "event", "events"), d.url)
	return err
}

func (d door) secret(w *cli.World) (string, error) {
	secret, _ := w.Lookup(credentialVariable)
	if d.credential != "" {
		text, err := os.ReadFile(d.credential)
		if err != nil {
			return "", fmt.Errorf("reading the credential: %w", err)
		}
		secret = strings.TrimSpace(string(text))
	}
	if secret == "" {
		return "", &cli.UsageError{Err: errNoCredential}
	}
	return secret, nil
}
