package testbed

import (
	"bytes"
	"sync"
)

// Log is a log that can be read while many write it; its zero value is empty.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

// Write adds to the log.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String is what was written until now.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
