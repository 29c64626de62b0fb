package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"pusher/internal/assemble"
	"pusher/internal/operate"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
	"pusher/internal/store"
)

// log opens the push log as operators do.
func (s *system) log() *store.Store {
	s.t.Helper()
	log, err := assemble.Store(s.t.Context(), s.cfg, "operator")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(log.Close)
	return log
}

// A template was wrong at the provider, and some numbers are. After the template is mended, the deliveries that failed
// for it are sent once more, and nothing else is: neither the wrong numbers nor what was sent.
func TestO1_RequeueAfterAMendedTemplateSendsOnlyThose(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 2)
	s.patient()
	s.run()
	s.faults(provider.Fault{Kind: provider.Refuse, Code: "isv.MOBILE_NUMBER_ILLEGAL"})
	s.write(event(1, `"actions":["sms"],`), event(2, `"actions":["sms"],`))
	s.settled(2, push.Dead)
	s.faults(provider.Fault{Kind: provider.Refuse, Code: "isv.TEMPLATE_MISSING_PARAMETERS"})
	s.write(event(3, `"actions":["sms"],`), event(4, `"actions":["sms"],`), event(5, `"actions":["sms"],`))
	s.settled(5, push.Dead)
	s.faults()
	s.write(event(6, `"actions":["sms"],`))
	s.settled(1, push.Sent)

	desk := assemble.Desk(s.cfg, s.log(), nil, s.written)
	plan, err := desk.Plan(t.Context(), push.Requeue, push.Filter{ErrorCode: "isv.TEMPLATE_MISSING_PARAMETERS"})
	if err != nil {
		t.Fatal(err)
	}
	if want := (operate.Counts{Matching: 3, WouldSend: 3}); plan.Counts != want {
		t.Fatalf("the dry run says %+v, want %+v", plan.Counts, want)
	}
	s.accepted(1) // a dry run sends nothing
	out, err := desk.Apply(t.Context(), plan, operate.Actor{Name: "ada", Role: "cli"}, "template mended")
	if err != nil || out.Changed != 3 || out.Published != 3 {
		t.Fatalf("got %+v, %v", out, err)
	}
	s.settled(4, push.Sent) // at once: no compensator runs
	s.caughtUp()
	s.accepted(4)
	if n := s.number(`SELECT count(*) FROM push_log WHERE status = 'dead' AND dedup_id IN ('1', '2')`); n != 2 {
		t.Errorf("%d of the wrong numbers are dead still, want 2", n)
	}
	if n := s.number(`SELECT count(*) FROM operator_action_delivery d JOIN operator_action a ON a.id = d.action_id WHERE a.actor = 'ada'`); n != 3 {
		t.Errorf("the audit names %d deliveries, want 3", n)
	}
	if again, err := desk.Apply(t.Context(), plan, operate.Actor{Name: "ada", Role: "cli"}, "twice"); err != nil || again.Changed != 0 || again.Passed != 3 {
		t.Errorf("the same plan a second time: %+v, %v", again, err)
	}
}

// audited is what `pusher log audit` says of the last hour, with arguments of its own; it must exit 1 exactly if there are gaps.
func (in *installation) audited(args ...string) operate.Report {
	in.t.Helper()
	to := time.Now().Add(time.Minute).UTC().Format(time.RFC3339)
	args = append([]string{"log", "audit", "--json", "--since", "1h", "--to", to}, args...)
	p := in.start("pusher", "", args...)
	code := p.code()
	var report operate.Report
	if err := json.NewDecoder(strings.NewReader(p.output())).Decode(&report); err != nil {
		in.t.Fatalf("exit %d, %v:\n%s", code, err, p.output())
	}
	if want := min(len(report.Gaps), 1); code != want {
		in.t.Errorf("%d gaps, and exit %d", len(report.Gaps), code)
	}
	return report
}

// kinds are the kinds of findings, sorted.
func kinds(list []operate.Finding) string {
	words := make([]string, len(list))
	for i, f := range list {
		words[i] = f.Kind
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// do changes the database behind the product's back.
func (s *system) do(sql string) {
	s.t.Helper()
	if tag, err := s.db.Exec(s.t.Context(), sql); err != nil || tag.RowsAffected() == 0 {
		s.t.Fatal(tag, err)
	}
}

func TestAuditFindsNothingWhereAllIsWellAndEveryPlantedGap(t *testing.T) {
	t.Parallel()
	s := install(t, map[string]string{ // time that a busy machine needs
		"PUSHER_DEDUP_LEASE": "12s", "PUSHER_CHANNELS_NOTIFY_TIMEOUT": "5s", "PUSHER_CHANNELS_SMS_TIMEOUT": "5s", "PUSHER_CHANNELS_WECHAT_TIMEOUT": "5s",
	})
	p := s.pusher("")
	s.write(event(1, ""), event(2, ""), event(2, ""), event(3, `"actions":["sms"],`), `{"biz_type":"resume_viewed"}`, event(4, `"actions":["fax"],`))
	s.settled(7, push.Sent)
	s.caughtUp()
	p.retire()
	whole := s.audited("--provider", "aliyun")
	if len(whole.Gaps)+len(whole.Notes) > 0 || whole.Records != 6 || whole.Deliveries != 11 || whole.Poison != 1 || whole.Asked != 3 || whole.Keys != 8 || whole.Waiting != 0 {
		t.Fatalf("all is well, and the audit says %+v", whole)
	}

	// Never read, and committed all the same: an offset that was skipped.
	s.write(event(5, `"actions":["notify"],`))
	if got := s.audited(); len(got.Gaps) > 0 || got.Waiting != 1 {
		t.Errorf("what waits is no gap: %+v", got)
	}
	s.skip(7)
	if got := s.audited(); kinds(got.Gaps) != "no_row" || !strings.HasSuffix(got.Gaps[0].Where, "/0@6") || got.Gaps[0].Key != "push:dedup:resume_viewed:5:notify" {
		t.Errorf("an offset skipped: %+v", got.Gaps)
	}
	s.write(`no event`)
	s.skip(8)
	if got := s.audited(); kinds(got.Gaps) != "no_letter no_row" {
		t.Errorf("poison without a letter: %+v", got.Gaps)
	}

	// A row that somebody deleted: its record, its key and its in-app message are left.
	s.do(`DELETE FROM push_log WHERE dedup_id = '1' AND action = 'notify'`)
	if got := s.audited(); kinds(got.Gaps) != "key_without_row no_letter no_row no_row row_missing" {
		t.Errorf("a row deleted: %s %+v", kinds(got.Gaps), got.Gaps)
	}

	// A doubled send, which only the provider knows of: the same delivery by the hand of a pusher that had lost its row.
	s.do(`DELETE FROM push_log WHERE dedup_id = '3'`)
	s.forget()
	s.write(event(3, `"actions":["sms"],`))
	p = s.pusher("")
	s.settled(6, push.Sent)
	s.caughtUp()
	p.retire()
	got := s.audited("--provider", "aliyun")
	if n := strings.Count(kinds(got.Gaps), operate.KindTwice); n != 1 {
		t.Errorf("a doubled send: %+v", got.Gaps)
	}
}

// skip commits an offset for the group, as a wrong hand on the tools would.
func (s *system) skip(offset int64) {
	s.t.Helper()
	_, err := s.kafka.OffsetCommit(s.t.Context(), &kafka.OffsetCommitRequest{
		GroupID: s.cfg.Kafka.Group, GenerationID: -1,
		Topics: map[string][]kafka.OffsetCommit{s.cfg.Kafka.Topic: {{Partition: 0, Offset: offset}}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// forget empties Redis.
func (s *system) forget() {
	s.t.Helper()
	client, err := assemble.Redis(s.t.Context(), s.cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	if err := client.FlushDB(s.t.Context()).Err(); err != nil {
		s.t.Fatal(err)
	}
}
