// Package local runs the real Kafka, Redis and PostgreSQL of this machine as child processes, for tests and for the
// demo's PostgreSQL.
//
// Each server listens on 127.0.0.1 only, on a port of its own that it keeps over Stop and Start, has its data in a
// temporary directory that Close removes, and dies with the process that started it (on Linux even when that process
// is killed). It leaves out everything that a server for production needs: no replication, no fsync, no TLS.
package local
