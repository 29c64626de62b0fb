// Package cli is what the doorways of both programs share: signals, exit codes, and one clear line on stderr.
package cli
