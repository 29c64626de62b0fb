// Package fault breaks this process on purpose, at points that have names: the boundaries of the pipeline and of the
// compensator's pass. The crash matrix (internal/e2e) uses it to show what is left of a delivery when a process dies,
// a call fails, or the process is frozen past its lease, between any two steps.
//
// The points are compiled in and off. Passing one costs one atomic load and allocates nothing. They are switched on by
// an environment variable that nobody sets by accident, and only for one process, which then says so as loudly as it can:
//
//	CRASH_TEST_FAULTS='intent.after=die,commit.before=error:3'
//
// Each fault is a point and what happens there: die (the process is killed as by kill -9), error (the call fails) or
// stall (the process stops itself as by SIGSTOP, until somebody sends it SIGCONT). A number says how many passings it
// befalls, the first ones [1]. Each time it says so on stderr, so that whoever set the trap knows that it caught something.
//
// "before" a call means that nothing has happened yet; "after" it, that it has happened and its answer is not used
// yet: an error there is an answer that got lost.
package fault
