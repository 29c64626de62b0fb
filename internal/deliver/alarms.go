package deliver

import (
	"maps"
	"sync"
	"time"

	"pusher/internal/push"
)

// alarmEvery is how often one stop is told of while it lasts.
const alarmEvery = 5 * time.Minute

// alarms sees to it that a stop of an account or template is told of loudly and once in a while, however many
// deliveries meet it.
type alarms struct {
	mu   sync.Mutex           // guards told
	told map[string]time.Time // when each stop was told of last
}

// due reports whether the stop that an attempt met is to be told of now. A template's stop is one of each push.
func (a *alarms) due(r push.Result, bizType string, now time.Time) bool {
	if r.Class != push.Account {
		return false
	}
	stop := r.Provider + " " + r.Code
	if r.Scope == push.ScopeTemplate {
		stop += " " + bizType
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if last, told := a.told[stop]; told && now.Sub(last) < alarmEvery {
		return false
	}
	maps.DeleteFunc(a.told, func(_ string, last time.Time) bool { return now.Sub(last) >= alarmEvery })
	if a.told == nil {
		a.told = map[string]time.Time{}
	}
	a.told[stop] = now
	return true
}
