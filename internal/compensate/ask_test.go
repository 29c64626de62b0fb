package compensate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pusher/internal/push"
)

// questions makes n questions to a provider, about rows 1 to n.
func questions(provider string, n int) []push.Question {
	list := make([]push.Question, n)
	for i := range list {
		list[i] = push.Question{ID: int64(i + 1), Attempt: 1, Provider: provider}
	}
	return list
}

func TestQ5RecordsWhatWasFoundAsAccepted(t *testing.T) {
	t.Parallel()
	l := &log{questions: [][]push.Question{questions("aliyun", 3)}}
	got, err := newPass(l, map[string]Asker{"aliyun": asker{log: l, found: map[int64]string{2: "biz-2"}}}).Run(context.Background())
	if err != nil || got.Asked != 3 || got.Found != 1 {
		t.Errorf("summary %+v, %v; want 3 asked, 1 found", got, err)
	}
	want := push.Result{ID: 2, Attempt: 1, Class: push.Accepted, Provider: "aliyun", MessageID: "biz-2"}
	if len(l.results) != 1 || l.results[0] != want {
		t.Errorf("results %+v, want %+v", l.results, want)
	}
}

// Not found proves nothing: nothing is written.
func TestQ5NotFoundChangesNothing(t *testing.T) {
	t.Parallel()
	l := &log{questions: [][]push.Question{questions("aliyun", 3)}}
	got, err := newPass(l, map[string]Asker{"aliyun": asker{log: l}}).Run(context.Background())
	if err != nil || got.Asked != 3 || got.Found != 0 || len(l.results) != 0 {
		t.Errorf("summary %+v, results %v, %v", got, l.results, err)
	}
}

// What a provider tells without proving it ours is kept for people, and decides nothing.
func TestQ5AHintIsKeptAndDecidesNothing(t *testing.T) {
	t.Parallel()
	l := &log{questions: [][]push.Question{questions("tencent", 4)}}
	a := asker{
		log: l, found: map[int64]string{1: "m1"}, err: map[int64]error{3: errors.New("away")},
		hints: map[int64]string{1: "found", 2: "perhaps", 3: "not said"},
	}
	got, _ := newPass(l, map[string]Asker{"tencent": a}).Run(context.Background())
	if want := (push.Hint{ID: 2, Attempt: 1, Text: "perhaps"}); len(l.hinted) != 1 || l.hinted[0] != want {
		t.Errorf("hints %+v, want %+v", l.hinted, want)
	}
	if got.Found != 1 || len(l.results) != 1 {
		t.Errorf("found %d, results %+v; want the one that was found", got.Found, l.results)
	}
}

func TestQ5UnansweredQuestionsAreSaidOnceAndCostNoAnswer(t *testing.T) {
	t.Parallel()
	cause := errors.New("aliyun is away")
	l := &log{questions: [][]push.Question{questions("aliyun", 3)}}
	a := asker{log: l, found: map[int64]string{1: "biz-1"}, err: map[int64]error{2: cause, 3: cause}}
	got, err := newPass(l, map[string]Asker{"aliyun": a}).Run(context.Background())
	if got.Found != 1 {
		t.Errorf("found %d, want the one that was answered", got.Found)
	}
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "2 of 3 questions") {
		t.Errorf("error %v", err)
	}
}

func TestQ5AnAcceptanceThatCannotBeWrittenIsSaid(t *testing.T) {
	t.Parallel()
	cause := errors.New("postgres is away")
	l := &log{questions: [][]push.Question{questions("aliyun", 1)}, fail: map[string]error{"record": cause}}
	a := asker{log: l, found: map[int64]string{1: "biz-1"}}
	got, err := newPass(l, map[string]Asker{"aliyun": a}).Run(context.Background())
	if !errors.Is(err, cause) || got.Found != 0 {
		t.Errorf("found %d, %v", got.Found, err)
	}
}

func TestQ5NobodyToAskMeansNoQuestion(t *testing.T) {
	t.Parallel()
	l := &log{questions: [][]push.Question{questions("aliyun", 1)}}
	got, err := newPass(l, nil).Run(context.Background())
	if err != nil || got.Asked != 0 || len(l.questions) != 1 {
		t.Errorf("summary %+v, %v", got, err)
	}
}

func TestQ5PutsAFewQuestionsAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &log{questions: [][]push.Question{questions("aliyun", 40)}}
		a := asker{log: l, wait: func() { time.Sleep(100 * time.Millisecond) }}
		start := time.Now()
		if _, err := newPass(l, map[string]Asker{"aliyun": a}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if l.mostAsked != asksAtOnce || time.Since(start) != 500*time.Millisecond {
			t.Errorf("%d at once, %v in all", l.mostAsked, time.Since(start))
		}
	})
}
