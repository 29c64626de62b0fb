// Package chaos is the proof on real services: pushers and compensators as processes, each behind fault proxies of its
// own, on a real Kafka, Redis and PostgreSQL, while everything that can fail fails by a plan that a seed makes.
//
// A producer writes events at a steady rate, many of them more than once. When the time is over everything is healed,
// the compensators run until nothing is left to do, and a referee counts at the providers' own journal and in the
// inbox: nothing may have been accepted twice, and nothing may be lost. The seed repeats the plan of the faults and
// the events; what the processes are doing when a fault strikes is up to the machine.
//
// It leaves out what one machine cannot show: disks that lie, clocks that step, clusters that fail over.
package chaos
