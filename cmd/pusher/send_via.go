package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"pusher/internal/cli"
	"pusher/internal/gateway"
	"pusher/internal/push"
)

// credentialVariable holds a producer's credential, where no file does.
const credentialVariable = "GATEWAY_CREDENTIAL"

// How long `pusher send --via` waits.
const (
	viaTimeout  = 30 * time.Second // for one answer
	viaPatience = time.Minute      // for a batch, unless --timeout says otherwise
)

// sending is how `pusher send` goes about it.
type sending struct {
	dry, show bool
	via       door
}

// door is the gateway that events go through; an empty URL: none.
type door struct {
	url        string
	credential string        // a file
	timeout    time.Duration // of a batch, over all its tries
}

// What --via cannot work with.
var (
	errNoCredential = errors.New("--via needs a credential: give --credential-file, or set " + credentialVariable)
	errNoGateway    = errors.New("--via wants the gateway's address, such as http://127.0.0.1:8081")
	errNoTime       = errors.New("--timeout must be longer than 0")
)

// send has the records accepted in batches. A batch that is asked for again is accepted once; the next one waits for it.
func (d door) send(ctx context.Context, w *cli.World, records []push.Record) error {
	client, err := d.client(w)
	if err != nil {
		return err
	}
	earlier := 0
	for at := 0; at < len(records); at += sendBatch {
		part := records[at:min(at+sendBatch, len(records))]
		receipt, err := d.batch(ctx, client, part)
		if err != nil {
			return stopped(at, len(part), len(records), err)
		}
		if receipt.Replayed {
			earlier += len(part)
		}
	}
	again := ""
	if earlier > 0 {
		again = fmt.Sprintf(" (%d of them already by an earlier try)", earlier)
	}
	_, err = fmt.Fprintf(w.Stdout, "%s accepted by %s%s\n", cli.Count(len(records), "event", "events"), d.url, again)
	return err
}

// client is the producer that asks, and says on stderr what keeps it waiting.
func (d door) client(w *cli.World) (*gateway.Client, error) {
	if d.timeout <= 0 {
		return nil, &cli.UsageError{Err: errNoTime}
	}
	if u, err := url.Parse(d.url); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &cli.UsageError{Err: errNoGateway}
	}
	credential, err := d.secret(w)
	if err != nil {
		return nil, err
	}
	return &gateway.Client{
		URL: d.url, Credential: credential, HTTP: &http.Client{Timeout: viaTimeout},
		Failed: func(tries int, wait time.Duration, err error) {
			_, _ = fmt.Fprintf(w.Stderr, "try %d: %v; the same again in %v\n", tries, err, wait)
		},
	}, nil
}

// batch sends one batch under the key that its events make, so that the next run of the program asks for the same.
func (d door) batch(ctx context.Context, client *gateway.Client, part []push.Record) (gateway.Receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	events := make([][]byte, len(part))
	for i, r := range part {
		events[i] = r.Value
	}
	return client.Send(ctx, events, gateway.KeyOf(events))
}

// stopped says how far the sending came, and what may be done now: before are accepted, and of the batch behind them err
// tells.
func stopped(before, batch, all int, err error) error {
	of := fmt.Sprintf("%d of %d events accepted", before, all)
	if _, silent := errors.AsType[*gateway.UnansweredError](err); silent {
		rest := ""
		if after := all - before - batch; after > 0 {
			rest = fmt.Sprintf(", the last %d were not sent", after)
		}
		return fmt.Errorf("%s, of the next %d it is not known%s; it is safe to send the same again, under the same keys: %w", of, batch, rest, err)
	}
	return fmt.Errorf("%s, none of the others; what is accepted is not taken twice if the same is sent again: %w", of, err)
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
