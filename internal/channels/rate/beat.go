package rate

import (
	"context"
	"time"
)

// beats is when this process says next that it uses the rate. It is not safe for concurrent use.
type beats struct {
	out  bool      // one is on its way
	next time.Time // not before this
}

// due reports whether it is time for a beat.
func (b *beats) due(now time.Time) bool { return !b.out && !b.next.After(now) }

// beat says, beside the dealing, that this process uses the rate, and learns how many do; that is also how it finds out
// that Redis is back.
func (l *Limiter) beat() {
	l.mu.Lock()
	l.beats.out = true
	l.mu.Unlock()
	l.all.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callMost)
		defer cancel()
		instances, err := l.source.beat(ctx)
		if err != nil {
			l.away(err)
			return
		}
		l.back(instances)
	})
}

// away goes over to our own share.
func (l *Limiter) away(reason error) {
	l.mu.Lock()
	news := !l.local.on
	l.local.on = true
	l.beats = beats{next: time.Now().Add(beatEvery)}
	l.mu.Unlock()
	if news {
		l.changed(false, reason)
	}
}

// back notes that Redis answers.
func (l *Limiter) back(instances int) {
	now := time.Now()
	l.mu.Lock()
	news := l.local.on
	if news {
		l.local.on, l.local.until = false, now.Add(settling)
	}
	if now.Before(l.local.until) {
		instances = max(instances, l.local.instances) // a Redis that forgot has not heard of all yet
	}
	l.local.instances = instances
	l.beats = beats{next: now.Add(beatEvery)}
	l.mu.Unlock()
	if news {
		l.changed(true, nil)
	}
}
