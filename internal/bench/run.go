package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Options say what to measure.
type Options struct {
	Only string    // names of stages, by commas; empty: all
	Out  string    // the file that gets the table; beside it, .svg, the chart; empty: neither
	Log  io.Writer // gets a line as each figure comes, and the table

	Profile string // directory for pprof files of each child process; empty: none
}

// stage is a group of figures that are measured together, references included.
type stage struct {
	name string
	do   func(ctx context.Context, b *bench) error
}

func stages() []stage {
	return []stage{
		{"immediate", immediate},
		{"slow", slow},
		{"replay", replay},
		{"delay", delay},
		{"scaling", scaling},
		{"backlog", backlog},
		{"compensator", compensator},
		{"gateway", atTheDoor},
	}
}

// bench is one run.
type bench struct {
	*world

	log  io.Writer
	rows []row
	kept map[string]float64 // figures that later stages refer to
}

// Run measures, and prints and writes the table. An error says what could not be measured; a target that is missed is
// none.
func Run(ctx context.Context, o Options) (err error) {
	b := &bench{log: o.Log, kept: map[string]float64{}}
	chosen, err := choose(o.Only)
	if err != nil {
		return err
	}
	began := time.Now()
	if b.world, err = newWorld(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	b.profile = o.Profile
	var failed []error
	for _, s := range chosen {
		from := time.Now()
		if err := s.do(ctx, b); err != nil {
			failed = append(failed, fmt.Errorf("measuring %s: %w", s.name, err))
		}
		b.sayf("# %s took %v", s.name, time.Since(from).Round(time.Second))
	}
	return errors.Join(errors.Join(failed...), b.publish(o.Out, time.Since(began)))
}

// choose picks the stages that are named.
func choose(only string) ([]stage, error) {
	all := stages()
	if only == "" {
		return all, nil
	}
	var chosen []stage
	for name := range strings.SplitSeq(only, ",") {
		found := false
		for _, s := range all {
			if s.name == strings.TrimSpace(name) {
				chosen, found = append(chosen, s), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no stage %q", name)
		}
	}
	return chosen, nil
}

func (b *bench) sayf(format string, args ...any) { _, _ = fmt.Fprintf(b.log, format+"\n", args...) }
