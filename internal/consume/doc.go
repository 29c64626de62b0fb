// Package consume reads events from Kafka and commits what is taken care of: topics in, offsets and dead letters out.
//
// It promises that the committed offset of a partition never passes a record that is not taken care of, and never
// goes back (docs/protocol.md, invariant g); that a record which cannot become an event reaches the dead-letter topic
// byte for byte before its offset counts; that memory is bounded by the number of partitions, whatever the backlog;
// that the death of a broker ends in fetching again, never in silence or a hot loop; and that Run returns within its
// grace, even when Kafka answers nothing.
//
// It does not decode events, does not decide how many records are out at once (the Handler does, by blocking), and
// does not log: what happens is told to Config.OnEvent, counted in Stats and judged by Ready.
//
// Transactional producers: records of aborted transactions are read like any other (kafka-go does not tell them
// apart); the markers that end transactions are skipped.
package consume
