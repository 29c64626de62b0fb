// Package compensate is the compensator's pass: it brings back what failed, closes what is over, and clears up what a
// crash left behind (rules Q1 to Q7 of docs/protocol.md, section 3).
//
// It promises that a row is published only after its re-queueing is committed, that two passes at once share the work
// and never double it, and that a step that fails does not keep the others from their work. It leaves out the
// statements (store), the wire (channels) and Kafka (consume); the pusher believes the row, never the retry message,
// so publishing one twice is harmless.
package compensate
