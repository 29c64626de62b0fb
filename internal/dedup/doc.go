// Package dedup is the fast arbiter of who may try a delivery: one Redis key a delivery, claimed for the time of a
// lease and settled to what the push log said (docs/protocol.md, rules C1 to C6, K1, R1, N1, Q8).
//
// It promises that a key changes only as these rules say, each change in one script on that one key, that no key is
// ever without a TTL, and that every call may be repeated when its answer got lost. It does not promise that only one
// owner goes on: Redis may forget, and the row in Postgres decides alone. It retries nothing but what the client
// retries by itself, and logs nothing.
package dedup
