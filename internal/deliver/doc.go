// Package deliver is the way of a delivery: claim, intent, fence, send, result, settle (docs/protocol.md, sections 1
// and 3). Each delivery is one goroutine that reads like that sentence; the calls to Redis and PostgreSQL of many
// deliveries gather into batches by themselves (see batcher), and a batch never ties one delivery's fate to another's.
//
// It promises that a request leaves only for a row that says sending by this very claim, inside the lease on this
// process's own clock, and that a record is reported done only when each of its deliveries has a row that somebody
// looks after. It leaves out Kafka (consume), the statements (store), the scripts (dedup) and the wire (channels).
package deliver
