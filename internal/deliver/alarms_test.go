package deliver

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pusher/internal/push"
)

func TestFieldReport33_OneAlarmAStop(t *testing.T) {
	t.Parallel()
	var a alarms
	now := time.Now()
	account := push.Result{Class: push.Account, Scope: push.ScopeAccount, Provider: "wechat", Code: "40164"}
	var told atomic.Int64
	var all sync.WaitGroup
	for i := range 1000 {
		all.Go(func() {
			if a.due(account, []string{"a", "b"}[i%2], now.Add(time.Duration(i)*200*time.Millisecond)) {
				told.Add(1)
			}
		})
	}
	all.Wait()
	if told.Load() != 1 {
		t.Errorf("told %d times in three minutes, want once", told.Load())
	}
	if !a.due(account, "a", now.Add(time.Hour)) {
		t.Error("an hour later it is not told again")
	}
}

func TestAlarmsAreOfAccountsAndTemplates(t *testing.T) {
	t.Parallel()
	var a alarms
	now := time.Now()
	template := push.Result{Class: push.Account, Scope: push.ScopeTemplate, Provider: "wechat", Code: "40037"}
	for _, c := range []struct {
		result  push.Result
		bizType string
		want    bool
	}{
		{template, "a", true}, {template, "a", false}, {template, "b", true},
		{push.Result{Class: push.Account, Scope: push.ScopeAccount, Provider: "wechat", Code: "48001"}, "a", true},
		{push.Result{Class: push.Account, Scope: push.ScopeAccount, Provider: "aliyun", Code: "48001"}, "a", true},
		{push.Result{Class: push.Throttled, Scope: push.ScopeRecipient, Provider: "aliyun", Code: "x"}, "a", false},
		{push.Result{Class: push.Permanent, Provider: "aliyun", Code: "x"}, "a", false},
	} {
		if got := a.due(c.result, c.bizType, now); got != c.want {
			t.Errorf("%+v of %s: due %v, want %v", c.result, c.bizType, got, c.want)
		}
	}
}
