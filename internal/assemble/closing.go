package assemble

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// closers are what was opened, each with its name. They close in reverse, under one deadline.
type closers []closer

type closer struct {
	name  string
	close func(context.Context) error
}

func (c *closers) add(name string, shut func(context.Context) error) {
	*c = append(*c, closer{name, shut})
}

// simple registers a close that cannot fail.
func (c *closers) simple(name string, shut func()) {
	c.add(name, func(context.Context) error { shut(); return nil })
}

// close closes everything, whatever fails.
func (c *closers) close(ctx context.Context) error {
	var failed []error
	for _, one := range slices.Backward(*c) {
		if err := one.close(ctx); err != nil {
			failed = append(failed, fmt.Errorf("closing %s: %w", one.name, err))
		}
	}
	return errors.Join(failed...)
}
