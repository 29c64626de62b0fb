// Package migrations holds the schema of the push log: numbered goose files, each with its way up and down.
//
// It promises only to carry the files; internal/store runs them.
package migrations

import "embed"

// FS holds every migration, named NNNNN_<noun>.sql.
//
//go:embed *.sql
var FS embed.FS
