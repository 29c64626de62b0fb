// Package e2e holds the end-to-end tests: the very same pusher and compensator that the commands run, on real Kafka,
// Redis and PostgreSQL where they can be had, against the provider sandbox as referee.
package e2e
