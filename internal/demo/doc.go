// Package demo runs the whole product in one process: embedded Kafka, Redis and PostgreSQL, the provider sandbox, two
// pushers and a compensator, on traffic that goes wrong in the ways that traffic does. At the end a referee, which asks
// the providers and the inbox and not the pushers, says whether anything was sent twice or lost.
package demo
