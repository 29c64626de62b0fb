package compensate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pusher/internal/push"
)

// due makes letters of rows 1 to n.
func due(n int) []push.Letter {
	list := make([]push.Letter, n)
	for i, p := range pokes(1, n) {
		list[i] = push.Letter{Poke: p, Code: "isv.X", Message: "no", Origin: push.Origin{Topic: "push-events", Offset: 9}}
	}
	return list
}

// refuseKey is a broker that will not have the records of one key.
func refuseKey(key string) func(push.Record) error {
	return func(r push.Record) error {
		if string(r.Key) == key {
			return errTooLarge
		}
		return nil
	}
}

func TestQ7WritesLettersAndHoldsNoneBackForAnother(t *testing.T) {
	t.Parallel()
	l := &log{letters: [][]push.Letter{due(3)}, refuse: refuseKey("2")}
	got, err := newPass(l, nil).Run(context.Background())
	if !errors.Is(err, errTooLarge) || got.Letters != 2 {
		t.Errorf("%d letters, %v; want two and the refusal of the third", got.Letters, err)
	}
	for _, r := range l.published {
		reason, _ := r.Header(push.HeaderReason)
		offset, _ := r.Header(push.HeaderOffset)
		if got := fmt.Sprint(r.Topic, " ", reason, " ", offset); got != "dlq dead 9" {
			t.Errorf("letter %s", got)
		}
	}
}

func TestQ7ALetterTooLargeForItsTopicIsCut(t *testing.T) {
	t.Parallel()
	letters := due(2)
	letters[1].Event = fmt.Appendf(nil, `{"params":{"text":%q}}`, strings.Repeat("x", 1<<20))
	l := &log{letters: [][]push.Letter{letters}, refuse: func(r push.Record) error {
		if len(r.Value) > 1<<20 {
			return errTooLarge
		}
		return nil
	}}
	got, err := newPass(l, nil).Run(context.Background())
	if err != nil || got.Letters != 2 {
		t.Fatalf("%d letters, %v", got.Letters, err)
	}
	r := l.published[1]
	whole, _ := r.Header(push.HeaderTruncated)
	sum, _ := r.Header(push.HeaderSHA256)
	if len(r.Value) != cutTo || len(whole) != 7 || len(sum) != 64 {
		t.Errorf("%d bytes of %q, SHA-256 %q", len(r.Value), whole, sum)
	}
}

func TestQ7ALargeLetterStaysDueWhileTheTopicIsAway(t *testing.T) {
	t.Parallel()
	away := errors.New("broker away")
	letters := due(1)
	letters[0].Event = fmt.Appendf(nil, `{"params":{"text":%q}}`, strings.Repeat("x", cutTo))
	l := &log{letters: [][]push.Letter{letters}, refuse: func(push.Record) error { return away }}
	got, err := newPass(l, nil).Run(context.Background())
	if !errors.Is(err, away) || got.Letters != 0 {
		t.Errorf("%d letters, %v", got.Letters, err)
	}
}
