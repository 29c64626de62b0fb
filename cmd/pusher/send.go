package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pusher/internal/assemble"
	"pusher/internal/cli"
	"pusher/internal/config"
	"pusher/internal/push"
)

// sendBatch is how many events are written at once.
const sendBatch = 500

// newSendCommand is `pusher send`. All or nothing: a file that is sent half cannot be sent again after it was mended.
func newSendCommand(w *cli.World) *cobra.Command {
	var dry, show bool
	var via door
	cmd := &cobra.Command{
		Use:   "send [FILE]",
		Short: "Validate events (JSON lines, from FILE or stdin) and write them to the topic",
		Long: "Validates events, one JSON object a line, and writes them to kafka.topic with their biz_id as key.\n\n" +
			"Nothing is written unless every line is a valid event of a configured push: each bad line is named on stderr with\n" +
			"its number, field and reason, and the exit code is 1. Blank lines are skipped.\n\n" +
			"With --via the events go to a gateway, batch by batch, and a batch that is not answered is sent again until --timeout.\n" +
			"Its Idempotency-Key is made of its events: the same file may be sent again, and what was accepted is not taken twice\n" +
			"as long as the gateway remembers keys (gateway.key_window).",
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, _, err := w.Load()
			if err == nil {
				err = c.NeedPushes()
			}
			if err != nil {
				return err
			}
			return send(cmd.Context(), w, c, append(args, stdinName)[0], sending{dry, show, via})
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "validate only, write nothing")
	cmd.Flags().BoolVar(&show, "preview", false, "show what each channel would say, in JSON lines, and write nothing")
	cmd.Flags().StringVar(&via.url, "via", "", "send through the gateway at this URL, not to the topic; asks again until it is accepted, once")
	cmd.Flags().DurationVar(&via.timeout, "timeout", viaPatience, "with --via: of each batch of "+strconv.Itoa(sendBatch)+", over all its tries")
	cmd.Flags().StringVar(&via.credential, "credential-file", "", "with --via: file with the producer's credential [$"+credentialVariable+"]")
	return cmd
}

// send reads, checks and writes the events of one file.
func send(ctx context.Context, w *cli.World, c *config.Config, name string, how sending) error {
	input, closeInput, err := openInput(w, name)
	if err != nil {
		return err
	}
	defer closeInput()
	if name == stdinName {
		name = "stdin"
	}
	records, remarks, bad, err := readEvents(input, c)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	for _, remark := range remarks {
		_, _ = fmt.Fprintf(w.Stderr, "%s:%s\n", name, remark)
	}
	switch {
	case bad > 0:
		return fmt.Errorf("bad events: %d of %d; nothing is written", bad, bad+len(records))
	case how.show:
		return preview(w, c, records)
	case how.dry:
		_, err = fmt.Fprintf(w.Stdout, "valid events: %d; nothing is written\n", len(records))
		return err
	}
	if how.via.url != "" {
		return how.via.send(ctx, w, records)
	}
	return publish(ctx, w, c, records)
}

// stdinName names stdin where a file's name is wanted.
const stdinName = "-"

// openInput opens a file, or stdin.
func openInput(w *cli.World, name string) (input io.Reader, closeInput func(), err error) {
	if name == stdinName {
		return w.Stdin, func() {}, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the events: %w", err)
	}
	return file, func() { _ = file.Close() }, nil
}

// readEvents gives a record for each good line and counts the bad ones. Its remarks hold nothing of what a line said.
func readEvents(input io.Reader, c *config.Config) (records []push.Record, remarks []string, bad int, err error) {
	reader, rules := bufio.NewReader(input), c.Rules()
	for number := 1; ; number++ {
		line, err := reader.ReadBytes('\n')
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return nil, nil, 0, err
		}
		if line := bytes.TrimSpace(line); len(line) > 0 {
			record, note, problem := readEvent(line, c, rules)
			if problem != nil {
				bad++
				remarks = append(remarks, fmt.Sprintf("%d: %v", number, problem))
			} else {
				records = append(records, record)
			}
			if note != "" {
				remarks = append(remarks, fmt.Sprintf("%d: note: %s", number, note))
			}
		}
		if last {
			return records, remarks, bad, nil
		}
	}
}

// readEvent checks one event as the pusher will. The note is about what is valid and yet hardly meant.
func readEvent(line []byte, c *config.Config, rules map[string]push.Rule) (record push.Record, note string, err error) {
	record = push.Record{Origin: push.Origin{Topic: c.Kafka.Topic, Time: time.Now()}, Value: line}
	event, err := push.Admit(record, rules)
	if err != nil {
		return record, "", err
	}
	configured := c.Pushes[event.BizType].Actions.List()
	for i, action := range event.Actions {
		if !slices.Contains(configured, action) {
			note = fmt.Sprintf("actions: the push has only %v, so number %d of these is skipped", configured, i+1)
		}
	}
	record.Key = []byte(event.BizID)
	return record, note, nil
}

// publish writes the records in batches. Interrupted, it says how many are surely written.
func publish(ctx context.Context, w *cli.World, c *config.Config, records []push.Record) (err error) {
	producer, err := assemble.Producer(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, producer.Close(ctx)) }()
	for at := 0; at < len(records); at += sendBatch {
		if err := producer.Publish(ctx, records[at:min(at+sendBatch, len(records))]); err != nil {
			return fmt.Errorf("writing to %s at %s, %d of %d written: %w", c.Kafka.Topic, strings.Join(c.Kafka.Brokers, ","), at, len(records), err)
		}
	}
	_, err = fmt.Fprintf(w.Stdout, "%s written to %s\n", cli.Count(len(records), "event", "events"), c.Kafka.Topic)
	return err
}
