// Package protocol is section 3 of docs/protocol.md once more, as a small model in plain Go, and the proof that the real
// scripts and statements do what it says. Nothing of the product imports it.
//
// Key is one dedup key (rules C, K, R, N and Q8), Log the rows of one delivery (rules I, U, P, Q and N), Provider what a
// channel's far side accepts. Each rule is a few lines, named by its number; time is whatever the clock handed in says.
// The model knows one delivery, no batches and no network.
//
// The tests walk at random (pgregory.net/rapid): workers, a compensator and a repairer each make one step at a time, on
// the model and on reality alike: internal/dedup on miniredis and on Redis, internal/store on PostgreSQL. Workers
// crash, freeze and wake, answers get lost, writes land late, requests are accepted after they were given up, messages
// come again, Redis forgets, goes back to an older copy or has its clock set. After each step model and reality must
// agree, and the invariants of section 3 hold.
//
// PostgreSQL's now() and Redis's TIME are real, so time passes in reality by moving every stored time into the past:
// walks count in whole minutes, and every limit of their rules lies at least ten seconds off a whole minute, so that
// the moments which a walk really takes change no answer.
//
// The holes of docs/holes.md are played on the same world, one test each: TestHoleH01 to TestHoleH16. docs/proof.md
// says what each of them does once its rule is taken out.
package protocol
