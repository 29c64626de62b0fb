// Package httpd is the process's HTTP door (docs/contract.md, section 7): /healthz, /readyz and /metrics, and a mux that
// others may hang their own pages on.
//
// It promises that a slow or silent client holds nothing up, and that /readyz answers within the checks' timeout
// whatever a dependency does. It knows no dependency itself: each is a named function.
package httpd
