// Package config holds the one typed configuration of pusher and compensator (docs/contract.md, section 6).
//
// Load reads it once (YAML file, then PUSHER_* variables, then secret files), fills in every default once and checks
// it once. It promises that what it returns contradicts itself nowhere, and that every mistake is reported in one go,
// each with its key, its place and how to mend it. It does not reach for any service: whether one answers is what
// `pusher check` says.
package config
