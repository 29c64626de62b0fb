package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
	var dry bool
	cmd := &cobra.Command{
		Use:   "send [FILE]",
		Short: "Validate events (JSON lines, from FILE or stdin) and write them to the topic",
		Long: "Validates events, one JSON object a line, and writes them to kafka.topic with their biz_id as key.\n\n" +
			"Nothing is written unless every line is a valid event of a configured push: each bad line is named on stderr with\n" +
			"its number, field and reason, and the exit code is 1. Blank lines are skipped.",
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, _, err := w.Load()
			if err == nil {
				err = c.NeedPushes()
			}
			if err != nil {
				return err
			}
			return send(cmd.Context(), w, c, append(args, "-")[0], dry)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "validate only, write nothing")
	return cmd
}

// send reads, checks and writes the events of one file.
func send(ctx context.Context, w *cli.World, c *config.Config, name string, dry bool) error {
	input, closeInput, err := openInput(w, name)
	if err != nil {
		return err
	}
	defer closeInput()
	records, bad, err := readEvents(input, c)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	for _, b := range bad {
		_, _ = fmt.Fprintf(w.Stderr, "%s:%s\n", name, b)
	}
	switch {
	case len(bad) > 0:
		return fmt.Errorf("%d of %d events are bad: nothing is written", len(bad), len(bad)+len(records))
	case dry:
		_, err = fmt.Fprintf(w.Stdout, "%d events are valid; nothing is written\n", len(records))
		return err
	}
	return publish(ctx, w, c, records)
}

// openInput opens a file, or stdin for "-".
func openInput(w *cli.World, name string) (input io.Reader, closeInput func(), err error) {
	if name == "-" {
		return w.Stdin, func() {}, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the events: %w", err)
	}
	return file, func() { _ = file.Close() }, nil
}

// readEvents gives a record for each good line and a word on each bad one; neither holds what the line said.
func readEvents(input io.Reader, c *config.Config) (records []push.Record, bad []string, err error) {
	reader, rules := bufio.NewReader(input), c.Rules()
	for number := 1; ; number++ {
		line, err := reader.ReadBytes('\n')
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return nil, nil, err
		}
		if line := bytes.TrimSpace(line); len(line) > 0 {
			record, problem := readEvent(line, c.Kafka.Topic, rules)
			if problem == nil {
				records = append(records, record)
			} else {
				bad = append(bad, fmt.Sprintf("%d: %v", number, problem))
			}
		}
		if last {
			return records, bad, nil
		}
	}
}

// readEvent checks one event as the pusher will.
func readEvent(line []byte, topic string, rules map[string]push.Rule) (push.Record, error) {
	record := push.Record{Origin: push.Origin{Topic: topic, Time: time.Now()}, Value: line}
	event, err := push.Decode(record)
	if err != nil {
		return record, err
	}
	rule, ok := rules[event.BizType]
	if !ok {
		return record, &push.PoisonError{
			Reason: push.ReasonUnknownBizType, Field: "biz_type", Detail: "no push of this name is configured",
		}
	}
	if _, err := rule.DedupID(event, record.Time); err != nil {
		return record, err
	}
	record.Key = []byte(event.BizID)
	return record, nil
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
	_, err = fmt.Fprintf(w.Stdout, "%d events written to %s\n", len(records), c.Kafka.Topic)
	return err
}
