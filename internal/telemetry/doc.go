// Package telemetry is what the process says of itself: the Prometheus metrics of the pipeline and the log.
//
// It promises that every label is from a small fixed set (anything else counts as "other"), so that no event, phone or
// provider can make metrics without end, and that nothing personal is in any of them. It keeps no package state: the
// registry belongs to one Metrics.
package telemetry
