package store_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"pusher/internal/push"
)

func TestListFiltersNewestFirst(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	sms := r.record(t, r.intend(t, "w1", about("a")), push.Accepted)
	wechat := r.record(t, r.intend(t, "w1", about("a"), of(push.WeChat)), push.NotSent)
	other := r.intend(t, "w1", about("b"), func(in *push.Intent) {
		in.Delivery.BizType, in.Delivery.BizID, in.Delivery.Event.Recipient.UserID = "job_applied", "7", "u2"
		in.RecipientHash = []byte{9}
	})
	for _, c := range []struct {
		name   string
		filter push.Filter
		want   []int64
	}{
		{"all", push.Filter{}, []int64{other.ID, wechat.ID, sms.ID}},
		{"by row", push.Filter{IDs: []int64{sms.ID, other.ID}}, []int64{other.ID, sms.ID}},
		{"by status", push.Filter{Statuses: []push.Status{push.Sent, push.Failed}}, []int64{wechat.ID, sms.ID}},
		{"by no status", push.Filter{Statuses: []push.Status{"lost'"}}, nil},
		{"by type", push.Filter{Identity: push.Identity{BizType: "job_applied"}}, []int64{other.ID}},
		{"by id and action", push.Filter{BizID: "10248", Identity: push.Identity{Action: push.SMS}}, []int64{sms.ID}},
		{"by key", push.Filter{Identity: wechatIdentity()}, []int64{wechat.ID}},
		{"by user", push.Filter{UserID: "u2"}, []int64{other.ID}},
		{"by recipient", push.Filter{RecipientHash: []byte{9}}, []int64{other.ID}},
		{"by masked recipient", push.Filter{Recipient: "138****8000", BizID: "7"}, []int64{other.ID}},
		{"by provider", push.Filter{Provider: "aliyun", Identity: push.Identity{Action: push.WeChat}}, []int64{wechat.ID}},
		{"by error", push.Filter{ErrorCode: "isp.SYSTEM_ERROR"}, []int64{wechat.ID}},
		{"lately", push.Filter{From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}, []int64{other.ID, wechat.ID, sms.ID}},
		{"later", push.Filter{From: time.Now().Add(time.Hour)}, nil},
		{"earlier", push.Filter{To: time.Now().Add(-time.Hour)}, nil},
	} {
		page, err := r.List(t.Context(), c.filter, 0, 0)
		if err != nil || page.Next != 0 {
			t.Fatalf("%s: next %d, %v", c.name, page.Next, err)
		}
		if got := idsOf(page.Entries); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func idsOf(list []push.Entry) []int64 {
	var ids []int64
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	return ids
}

// However many rows come in between, each is on one page.
func TestListGoesOnWhereThePageBeforeEnded(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	var want []int64
	for range 5 {
		want = append(want, r.put(t, push.SMS, push.Failed, nil))
	}
	slices.Reverse(want)
	var got []int64
	for before, pages := int64(0), 0; pages == 0 || before > 0; pages++ {
		page, err := r.List(t.Context(), push.Filter{Statuses: []push.Status{push.Failed}}, before, 2)
		if err != nil || pages > 5 {
			t.Fatal(pages, err)
		}
		got, before = append(got, idsOf(page.Entries)...), page.Next
		r.put(t, push.SMS, push.Failed, nil)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func wechatIdentity() push.Identity {
	return push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: "a", Action: push.WeChat}
}

func TestShowTellsEveryAttempt(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.record(t, r.intend(t, "w1"), push.NotSent)
	n := r.queue(t, row)
	row = r.record(t, r.intend(t, "w2", retry(n)), push.Accepted)
	entry, attempts, err := r.Show(t.Context(), row.ID)
	if err != nil {
		t.Fatal(err)
	}
	if entry.Status != push.Sent || entry.Recipient != "138****8000" || entry.SentAt.IsZero() || entry.ErrorCode != "" ||
		entry.Origin.Offset != 42 || entry.ProviderMsgID != "m1" || !entry.NextAttemptAt.IsZero() {
		t.Errorf("entry %+v", entry)
	}
	first, second := attempts[0], attempts[1]
	if len(attempts) != 2 || first.Outcome != "not_sent" || first.ErrorCode != "isp.SYSTEM_ERROR" || first.Owner != "w1" ||
		first.Current || first.Worker != "host-1" || first.FinishedAt.Before(first.StartedAt) {
		t.Errorf("first attempt %+v", first)
	}
	if second.Outcome != "accepted" || !second.Current || second.ErrorCode != "" || second.ProviderMsgID != "m1" {
		t.Errorf("second attempt %+v", second)
	}
	if _, _, err := r.Show(t.Context(), 1<<40); !errors.Is(err, push.ErrNotFound) {
		t.Errorf("showing nothing: %v", err)
	}
}

func TestStatsCountByActionStatusProviderAndError(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for i := range 3 {
		r.record(t, r.intend(t, "w1", about(strconv.Itoa(i))), push.Accepted)
	}
	r.record(t, r.intend(t, "w1", of(push.WeChat)), push.NotSent)
	want := []push.Count{
		{Action: push.SMS, Status: push.Sent, Provider: "aliyun", Count: 3},
		{Action: push.WeChat, Status: push.Failed, Provider: "aliyun", ErrorCode: "isp.SYSTEM_ERROR", Count: 1},
	}
	got, err := r.Stats(t.Context(), time.Time{}, time.Time{})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("stats %+v, %v, want %+v", got, err, want)
	}
	if got, err := r.Stats(t.Context(), time.Now().Add(time.Hour), time.Time{}); err != nil || len(got) != 0 {
		t.Errorf("stats of the future: %+v, %v", got, err)
	}
}
