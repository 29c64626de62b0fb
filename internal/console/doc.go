// Package console is the operators' pages at /console/: what became of a delivery and why, what is due, unknown or dead,
// how the channels do, and the same requeue and resolve as the command line has.
//
// It promises that every text of an event, a provider or an operator is shown as text, whatever is in it; that a page
// loads nothing but what this program embeds, and runs no script of its own markup (Content-Security-Policy); that
// nobody looks without a token, and nobody acts with a viewer's; and that what is confirmed is what was shown. It
// reads by indexed queries only, and decides nothing about deliveries itself: that is internal/operate's.
package console
