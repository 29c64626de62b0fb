// Package testbed gives tests a Kafka, a Redis and a PostgreSQL, real wherever they can be had, and each test its own
// corner of them: topics of its own, a Redis database of its own, a PostgreSQL database cloned from a migrated one.
//
// Where a server comes from is decided once a process, for each of the three, in this order:
//
//  1. given: the address in TESTBED_KAFKA, TESTBED_REDIS or TESTBED_POSTGRES (a URL). `make test` gives all
//     three: cmd/testservers starts them once for all packages;
//  2. container: testcontainers-go, where a Docker engine answers;
//  3. local: the real server, where it is installed on this machine;
//  4. embedded: what package embedded offers, anywhere.
//
// A test that restarts a server, or harms others by what it does to it (FLUSHALL, SCRIPT FLUSH, a dropped topic of
// Kafka's own), takes one for itself with OwnKafka, OwnRedis or OwnPostgres.
package testbed
