// Package embedded runs Kafka, Redis and PostgreSQL on any machine that has Go and nothing else, for the demo and for
// tests where no real server can be had.
//
// Kafka (franz-go's kfake) and Redis (miniredis) run inside this process. PostgreSQL is the real one: its programs are
// fetched once from Maven Central, kept in the user's cache directory, and run as a child process, by an unprivileged
// user where root starts it. All listen on 127.0.0.1 only, keep their port over Stop and Start, and end within bounded
// time on Close. Kafka and Redis are imitations: what they prove of our protocol, real servers prove again in tests.
package embedded
