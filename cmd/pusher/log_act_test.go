package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pusher/internal/store"
)

func TestLogRequeueIsADryRunUntilYes(t *testing.T) {
	t.Parallel()
	s := onServices(t)
	s.filled(t)
	conf := s.config(t)
	name := []string{"log", "requeue", "resume_viewed", "10249", "sms", "--config", conf}
	dry := execute(t.Context(), "", name...)
	if dry.code != 0 || !strings.Contains(dry.stdout, "would send    1") || !strings.Contains(dry.stdout, "nothing is changed") {
		t.Fatalf("got %+v", dry)
	}
	if now := execute(t.Context(), "", "log", "list", "--status", "queued", "--json", "--config", conf); strings.TrimSpace(now.stdout) != "[]" {
		t.Fatalf("a dry run queued %s", now.stdout)
	}
	done := execute(t.Context(), "", append(name, "--yes", "--reason", "template mended", "--as", "ada", "--json")...)
	var told deedPlan
	if err := json.Unmarshal([]byte(done.stdout), &told); err != nil || done.code != 0 {
		t.Fatalf("%v: got %+v", err, done)
	}
	if told.DryRun || told.Counts.WouldSend != 1 || told.Outcome == nil || told.Outcome.Queued != 1 || told.Outcome.Published != 1 {
		t.Errorf("got %+v, outcome %+v", told, told.Outcome)
	}
	shown := execute(t.Context(), "", "log", "show", "resume_viewed", "10249", "sms", "--config", conf)
	for _, want := range []string{"queued", "ada", "requeue", "template mended"} {
		if !strings.Contains(shown.stdout, want) {
			t.Errorf("no %q in\n%s", want, shown.stdout)
		}
	}
	again := execute(t.Context(), "", append(name, "--yes", "--reason", "again")...)
	if again.code != 0 || !strings.Contains(again.stdout, "is queued already: 1") || !strings.Contains(again.stdout, "nothing is to be done") {
		t.Errorf("got %+v", again)
	}
}

func TestLogResolveByEachWord(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]struct{ plan, status string }{
		"--sent":     {"would settle 1", "sent"},
		"--not-sent": {"would send 1", "queued"},
		"--resend":   {"may double 1", "queued"},
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			s := onServices(t)
			s.filled(t)
			conf := s.config(t)
			dry := execute(t.Context(), "", "log", "resolve", word, "--status", "unknown", "--config", conf)
			if dry.code != 0 || !strings.Contains(strings.Join(strings.Fields(dry.stdout), " "), want.plan) || !strings.Contains(dry.stdout, "nothing is changed") {
				t.Errorf("got %+v", dry)
			}
			done := execute(t.Context(), "", "log", "resolve", word, "push:dedup:resume_viewed:10250:sms", "--yes", "--reason", "asked the carrier", "--config", conf)
			if done.code != 0 || !strings.Contains(done.stdout, "1 changed, 0 passed over") {
				t.Errorf("got %+v", done)
			}
			list := execute(t.Context(), "", "log", "list", "--biz-id", "10250", "--json", "--config", conf)
			if !strings.Contains(list.stdout, `"status": "`+want.status+`"`) {
				t.Errorf("got %s, want %s", list.stdout, want.status)
			}
		})
	}
}

func TestLogDeedsSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	conf := onServices(t).config(t)
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no aim":         {[]string{"requeue"}, 2, "nothing says which deliveries"},
		"two aims":       {[]string{"requeue", "7", "--status", "dead"}, 2, "not both"},
		"no reason":      {[]string{"requeue", "7", "--yes"}, 2, "--yes asks for --reason"},
		"no word":        {[]string{"resolve", "7"}, 2, "0 are given"},
		"two words":      {[]string{"resolve", "7", "--sent", "--resend"}, 2, "2 are given"},
		"no such row":    {[]string{"requeue", "7"}, 1, "no such delivery in the push log"},
		"no such status": {[]string{"requeue", "--status", "gone"}, 2, `--status "gone"`},
		"no format":      {[]string{"export", "--format", "xml"}, 2, "neither csv nor jsonl"},
		"no token":       {[]string{"export", "--unmasked"}, 2, "asks for --token-file"},
		"too often":      {[]string{"follow", "--every", "1ms"}, 2, "--every"},
		"masked only":    {[]string{"export", "--unmasked", "--reason", "x", "--token-file", conf}, 1, "http.operator_token is not configured"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := execute(t.Context(), "", append(append([]string{"log"}, c.args...), "--config", conf)...)
			if got.code != c.code || !strings.Contains(got.stderr, c.says) {
				t.Errorf("got %+v, want %d %q", got, c.code, c.says)
			}
		})
	}
}

func TestLogExportMasksUnlessAuthorised(t *testing.T) {
	t.Parallel()
	s := onServices(t)
	s.filled(t)
	const token, phone = "an-operator-of-the-night", "+8613800138000"
	text, err := os.ReadFile(s.config(t))
	if err != nil {
		t.Fatal(err)
	}
	conf := file(t, string(text)+"http: {operator_token: "+token+"}\n")
	masked := execute(t.Context(), "", "log", "export", "--config", conf)
	lines, err := csv.NewReader(strings.NewReader(masked.stdout)).ReadAll()
	if err != nil || len(lines) != 4 || len(lines[0]) != len(lines[1]) || strings.Contains(masked.stdout, phone) {
		t.Fatalf("%v: got %+v", err, masked)
	}
	if lines[1][0] <= lines[3][0] {
		t.Errorf("%s stands before %s: not the newest first", lines[1][0], lines[3][0])
	}
	wrong := execute(t.Context(), "", "log", "export", "--unmasked", "--reason", "x", "--token-file", file(t, "guess"), "--config", conf)
	if wrong.code != 1 || wrong.stdout != "" || !strings.Contains(wrong.stderr, "does not hold the operator's token") {
		t.Errorf("got %+v", wrong)
	}
	whole := execute(t.Context(), "", "log", "export", "--json", "--unmasked", "--reason", "a court asks", "--as", "ada", "--token-file", file(t, token+"\n"), "--config", conf)
	if whole.code != 0 || strings.Count(whole.stdout, phone) != 2 || strings.Count(whole.stdout, "\n") != 3 { // of the sent one it is erased
		t.Errorf("got %+v", whole)
	}
	log, err := store.Open(t.Context(), store.Config{URL: s.postgres})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	acts, err := log.Actions(t.Context(), 0, 10)
	if err != nil || len(acts) != 1 || acts[0].Actor != "ada" || acts[0].Verb != exportUnmasked || acts[0].Reason != "a court asks" {
		t.Errorf("%v: the audit says %+v", err, acts)
	}
}

func TestHarmlessCellsAreNoFormulas(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"": "", "10248": "10248", "=1+2": "'=1+2", "@SUM(A1)": "'@SUM(A1)", "-2+3": "'-2+3", "\tx": "'\tx",
		"+8613800138000": "+8613800138000", "+86138****8000": "+86138****8000", "+cmd|x": "'+cmd|x",
	} {
		if got := harmless(cell); got != want {
			t.Errorf("%q became %q, want %q", cell, got, want)
		}
	}
}
