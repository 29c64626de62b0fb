package chaos

import (
	"strings"
	"testing"
	"time"

	"pusher/internal/operate"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

func TestEachDeliveryHasItsPlace(t *testing.T) {
	t.Parallel()
	const aliyun, tencent = provider.Aliyun, provider.Tencent
	for name, c := range map[string]struct {
		action   push.Action
		want     push.Status
		row      row
		accepted int
		place    func(*verdict) int
		good     bool
	}{
		"sent once":                      {push.SMS, push.Sent, row{status: push.Sent, attempt: 1}, 1, nil, true},
		"sent at the second attempt":     {push.SMS, push.Sent, row{status: push.Sent, attempt: 2}, 1, func(v *verdict) int { return v.retried }, true},
		"accepted twice":                 {push.SMS, push.Sent, row{status: push.Sent}, 2, func(v *verdict) int { return v.doubled }, false},
		"two in the inbox":               {push.Notify, push.Sent, row{status: push.Sent}, 2, func(v *verdict) int { return v.doubled }, false},
		"no row":                         {push.SMS, push.Sent, row{}, 0, func(v *verdict) int { return v.lost }, false},
		"said to be sent":                {push.SMS, push.Sent, row{status: push.Sent}, 0, func(v *verdict) int { return v.lost }, false},
		"given up":                       {push.SMS, push.Sent, row{status: push.Dead}, 0, func(v *verdict) int { return v.lost }, false},
		"given up although accepted":     {push.SMS, push.Sent, row{status: push.Dead}, 1, func(v *verdict) int { return v.strays }, false},
		"still failed":                   {push.SMS, push.Sent, row{status: push.Failed}, 0, func(v *verdict) int { return v.open }, false},
		"still sending":                  {push.SMS, push.Sent, row{status: push.Sending}, 0, func(v *verdict) int { return v.sending }, false},
		"sent against its rule":          {push.SMS, push.Expired, row{status: push.Sent}, 1, func(v *verdict) int { return v.strays }, false},
		"rightly refused":                {push.SMS, push.Dead, row{status: push.Dead, attempt: 3}, 0, nil, true},
		"rightly skipped":                {push.WeChat, push.Skipped, row{status: push.Skipped}, 0, nil, true},
		"no letter":                      {push.SMS, push.Dead, row{status: push.Dead, letter: true}, 0, func(v *verdict) int { return v.letters }, false},
		"Aliyun never got it":            {push.SMS, push.Sent, row{status: push.Unknown, provider: aliyun}, 0, func(v *verdict) int { return v.unknown }, true},
		"Aliyun has it":                  {push.SMS, push.Sent, row{status: push.Unknown, provider: aliyun}, 1, func(v *verdict) int { return v.untold }, false},
		"Tencent has it":                 {push.SMS, push.Sent, row{status: push.Unknown, provider: tencent}, 1, func(v *verdict) int { return v.unknown }, true},
		"WeChat takes it again":          {push.WeChat, push.Sent, row{status: push.Unknown, doubt: time.Minute}, 1, func(v *verdict) int { return v.untold }, false},
		"WeChat has forgotten":           {push.WeChat, push.Sent, row{status: push.Unknown, doubt: resendWithin}, 1, func(v *verdict) int { return v.unknown }, true},
		"WeChat refuses for good":        {push.WeChat, push.Dead, row{status: push.Unknown, doubt: time.Minute}, 0, func(v *verdict) int { return v.unknown }, true},
		"and is asked again":             {push.WeChat, push.Dead, row{status: push.Sending, inDoubt: true}, 0, func(v *verdict) int { return v.repeating }, true},
		"refused before any doubt":       {push.WeChat, push.Dead, row{status: push.Sending}, 0, func(v *verdict) int { return v.sending }, false},
		"the inbox is never in doubt":    {push.Notify, push.Sent, row{status: push.Unknown}, 0, func(v *verdict) int { return v.untold }, false},
		"expired without being accepted": {push.Notify, push.Expired, row{status: push.Expired}, 0, nil, true},
	} {
		v := &verdict{byAction: map[push.Action]map[push.Status]int{}}
		v.count(which{"1", c.action}, c.want, c.row, c.accepted)
		if c.place != nil && c.place(v) != 1 {
			t.Errorf("%s: not counted where it belongs: %+v", name, *v)
		}
		if v.good() != c.good {
			t.Errorf("%s: good = %t, want %t", name, v.good(), c.good)
		}
		if !c.good && name != "no letter" && len(v.wrong) != 1 {
			t.Errorf("%s: told of %d wrong deliveries, want 1", name, len(v.wrong))
		}
	}
}

func TestARunIsBadForMoreThanItsDeliveries(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]verdict{
		"lag": {lag: 1}, "a row too many": {extra: 1}, "a key for ever": {immortal: 1}, "a process that crashed": {died: 1},
		"a gap": {audit: operate.Report{Gaps: []operate.Finding{{Kind: operate.KindNoRow}}}},
	} {
		if v.good() {
			t.Errorf("%s is good", name)
		}
	}
	if v := (verdict{lag: 2, repeating: 2}); !v.good() {
		t.Error("messages of repeats that go on are taken for a lag")
	}
	if v := (verdict{unclean: 3, unknown: 5, retried: 7}); !v.good() {
		t.Errorf("%+v is bad", v)
	}
}

func TestTheTableTellsHowToSeeItAgain(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	v := &verdict{
		options: Options{Seed: 4711, For: 10 * time.Minute}, faults: map[string]int{string(redisFlushed): 3}, doubled: 2,
		wrong: []wrong{{words: "push:dedup:resume_viewed:1:sms: accepted 2 times"}},
		audit: operate.Report{Gaps: []operate.Finding{{Kind: operate.KindNoRow, Key: "push:dedup:resume_viewed:2:sms", Where: "push-events/0@7", Says: "committed"}}},
	}
	v.print(&out)
	for _, want := range []string{"make chaos SEED=4711 CHAOS_FOR=10m\n", "redis FLUSHALL", "accepted 2 times", "resume_viewed:2:sms: the audit finds no_row, push-events/0@7"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &out)
		}
	}
	for d, want := range map[time.Duration]string{90 * time.Second: "1m30s", time.Minute: "1m", 30 * time.Second: "30s", time.Hour: "1h0m"} {
		if got := brief(d); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
}
