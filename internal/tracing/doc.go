// Package tracing speaks OpenTelemetry for those who know only their own small doors for it: deliver.Tracer and
// compensate.Tracer. A record's trace begins with the traceparent of its headers, or anew; each delivery, each of its
// stages and each request at a provider is a span of it; a batch at Redis or PostgreSQL is a span of its own, linked with
// the stages that it carried; a retry message is a span of the compensator, and the parent of what becomes of it.
//
// It promises that no span has an address, a text or an id of a person in it, that nothing of a trace goes to a provider,
// and that a collector which is away holds nothing up. Where traces are off it is not there at all.
package tracing
