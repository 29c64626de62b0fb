// Package store is the memory of what happened, in PostgreSQL: push log, attempts, in-app messages.
//
// It promises that every change of a row is one conditional statement whose guard is a rule of docs/protocol.md,
// section 3, so that of any number of workers at most one is ever entitled to send an attempt, whatever Redis says;
// that each statement may be repeated when its answer got lost; and that one item's bad data fails that item alone.
// Times are PostgreSQL's own. It leaves out when to call what (internal/deliver, internal/compensate) and logging.
//
// Batch methods answer item by item, in the order asked: each answer is the row's last word or that item's error. A
// failure of the whole batch (connection, deadline) is the error of each item; what was written is then not known,
// and the same call is to be repeated.
package store
