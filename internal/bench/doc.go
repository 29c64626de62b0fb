// Package bench measures what the pipeline does on real services of one machine: Kafka, Redis and PostgreSQL (every
// commit synced) share its processors with the pusher, as processes of their own. Figures therefore count as ratios of
// one run: the same stage measures the references beside the pusher, on the same events.
//
// The pusher is the real one (package assemble), in a process of its own. Its provider is a function in that process
// that renders its template and waits, if it is to be slow: no HTTP, whose client and server would take the better
// part of two processors and would measure net/http. Everything else is as in production.
//
// The references are a loop without any frame around it, which reads in batches and calls the very same scripts and
// statements (frameless.go), the worker of a tutorial, one message at a time (tutorial.go), and what each service takes
// alone (ceilings.go).
package bench
