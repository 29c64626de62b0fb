// Package operate is what a person does with the push log at 3 a.m.: finds a delivery, has it explained, and sends
// what is dead once more or says what became of what is unknown (rule O1 of docs/protocol.md, section 3).
//
// It promises that nothing moves without a plan that says beforehand how much would, that a plan moves only rows that
// are still what it saw, that what may double is never sent unless the verb says so, and that every act is kept with
// who and why, committed together with what it changed. It leaves out statements (store), Redis (dedup) and Kafka
// (consume); the commands and the console are two faces of it.
package operate
