// Package browser drives a real Chromium for tests of pages, and notes everything that the browser complains about: what
// the Content-Security-Policy stops, errors of scripts, and each request that leaves the tested host. For tests only.
package browser
