package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pusher/internal/cli"
	"pusher/internal/store"
)

// newMigrateCommand holds the directions of the schema. Migrations need a direct connection: see store.Migrate.
func newMigrateCommand(w *cli.World) *cobra.Command {
	group := &cobra.Command{Use: "migrate", Short: "The schema of the push log"}
	return cli.Group(group,
		migrateCommand(w, "up", "Bring the schema up to date", store.Migrate),
		migrateCommand(w, "down", "Take back every migration, and with them all data", store.MigrateDown),
		migrateCommand(w, "status", "List the migrations", store.MigrationStatus),
	)
}

// migrateCommand runs one direction, or lists, and prints each migration that it was about; those done before a
// failure too.
func migrateCommand(w *cli.World, name, short string, do func(context.Context, string) ([]store.Migration, error)) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := w.Load()
			if err == nil {
				err = c.NeedPostgres()
			}
			if err != nil {
				return err
			}
			list, err := do(cmd.Context(), c.Postgres.URL.Reveal())
			printMigrations(w, name, list, err)
			return err
		},
	}
}

// printMigrations prints a line for each migration: what was done to it, or where it stands.
func printMigrations(w *cli.World, name string, list []store.Migration, err error) {
	if len(list) == 0 && err == nil {
		_, _ = fmt.Fprintln(w.Stdout, "nothing to do")
	}
	for _, m := range list {
		state := "applied"
		switch {
		case name == "down":
			state = "removed"
		case !m.Applied:
			state = "pending"
		}
		_, _ = fmt.Fprintf(w.Stdout, "%-8s %s\n", state, m.Name)
	}
}
