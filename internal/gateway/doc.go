// Package gateway is the producers' front door: HTTP requests in, records on the topic out (docs/contract.md, section 7).
// Duplicates begin with producers who time out and try again; most of them end here, before Kafka.
//
// It promises that 202 is answered only once all replicas have the events, that the same Idempotency-Key gets the same
// answer again, that nothing of a batch is written when one of its events is bad (unless asked for), and that a failure
// says whether it may have been written. It does not promise that an event is written once: Redis may forget, a write may
// end without an answer, and then the pusher's own dedup stands behind it. It keeps nothing itself: any number of
// gateways may stand side by side.
package gateway
