// Package push holds the words of the product and its pure rules: event, delivery, dedup key, status, attempt,
// failure, backoff.
//
// It promises to do no input or output and to import nothing of the house, so that every other package may import
// it. The words are those of docs/contract.md, section 1; the rules are those of docs/protocol.md, section 3.
package push
