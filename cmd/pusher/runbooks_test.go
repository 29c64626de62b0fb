package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"pusher/internal/cli"
)

// command finds what an operator is told to type: in code quotes, or on a line of its own in a block.
var command = regexp.MustCompile("(?m)`(?:bin/)?pusher ([^`]+)`|^ *bin/pusher ([^\n#|]*)")

// At three in the morning nobody should be told to type what the program does not understand.
func TestEveryCommandOfTheRunbooksAndTheReadmeIsUnderstood(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../deploy/runbooks/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no runbooks", err)
	}
	found := 0
	for _, path := range append(pages, "../../README.md", "../../docs/receipts.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
			found++
			if err := understood(m[1] + m[2]); err != nil {
				t.Errorf("%s: pusher %s: %v", path, m[1]+m[2], err)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d commands were found: does the pattern still match?", found)
	}
}

// understood reports whether there are such a command and such flags; what they are given is not looked at.
func understood(line string) error {
	root := newRootCommand(&cli.World{})
	cmd, rest, err := root.Find(words(line))
	if err != nil {
		return err
	}
	if cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("%s has no %q", cmd.Name(), rest[0])
	}
	var bare *pflag.ValueRequiredError // a page that only names a flag
	if err := cmd.ParseFlags(rest); !errors.As(err, &bare) {
		return err
	}
	return nil
}

// words splits a line as a shell does, where quotes do not nest.
func words(line string) []string {
	var list []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			list = append(list, part)
			continue
		}
		list = append(list, strings.Fields(part)...)
	}
	return list
}

func TestACommandThatIsNotThereIsMissed(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"log lst", "log list --stat dead", `log requeue 7 --because "mended"`, "log list --since yesterday"} {
		if understood(line) == nil {
			t.Errorf("pusher %s is understood", line)
		}
	}
}
