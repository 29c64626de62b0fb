package console

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"pusher/internal/push"
)

// bubble is a live feed on a memory, inside a bubble of time.
func bubble() (*live, *memory) {
	m := newMemory(time.Now)
	cfg := Config{Log: zerolog.Nop(), Now: time.Now}
	return newLive(func() (Source, error) { return Source{Log: m}, nil }, cfg), m
}

// told is the news that waits for a page, nil when there is none.
func newsOf(s *stream) *news {
	select {
	case <-s.wake:
		n := s.take()
		return &n
	default:
		return nil
	}
}

func TestChangesAreToldOnceToEveryOpenPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, m := bubble()
		defer l.close()
		m.put(entry(1, push.SMS, push.Sent)) // before any page: no news
		time.Sleep(2 * overlap)
		one, two := l.join(), l.join()
		time.Sleep(lookEvery + time.Millisecond)
		if n := newsOf(one); n != nil {
			t.Fatalf("news of what was there before: %+v", n)
		}
		m.change(1, func(e *push.Entry) { e.Status = push.Delivered })
		time.Sleep(lookEvery)
		for _, s := range []*stream{one, two} {
			if n := newsOf(s); n == nil || len(n.IDs) != 1 || n.IDs[0] != 1 {
				t.Errorf("got %+v", n)
			}
		}
		time.Sleep(5 * lookEvery) // looks overlap
		if n := newsOf(one); n != nil {
			t.Errorf("told again: %+v", n)
		}
		m.change(1, func(e *push.Entry) { e.Status = push.Undelivered })
		time.Sleep(lookEvery)
		if n := newsOf(one); n == nil {
			t.Error("a second change of the same delivery was not told")
		}
	})
}

func TestChangeThatCommitsLateIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, m := bubble()
		defer l.close()
		s := l.join()
		time.Sleep(3*lookEvery + time.Millisecond)
		late := entry(7, push.SMS, push.Sent)
		late.UpdatedAt = time.Now().Add(-lookEvery - 200*time.Millisecond) // begun before the last look
		m.put(late)
		time.Sleep(lookEvery)
		if n := newsOf(s); n == nil || n.IDs[0] != 7 {
			t.Errorf("got %+v", n)
		}
	})
}

func TestNobodyLooksWhileNoPageIsOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, m := bubble()
		defer l.close()
		s := l.join()
		time.Sleep(3*lookEvery + time.Millisecond)
		l.leave(s)
		synctest.Wait()
		looks := m.looked()
		time.Sleep(time.Minute)
		if m.looked() != looks || looks == 0 {
			t.Errorf("%d looks, then %d", looks, m.looked())
		}
		again := l.join()
		time.Sleep(lookEvery)
		if m.looked() == looks {
			t.Error("nobody looks although a page is open")
		}
		l.leave(again)
		l.close()
		if l.join() != nil {
			t.Error("a page joined after the end")
		}
	})
}

func TestPushLogAwayIsToldAndItsReturn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, m := bubble()
		defer l.close()
		s := l.join()
		time.Sleep(lookEvery + time.Millisecond)
		m.mu.Lock()
		m.away = errors.New("refused")
		m.mu.Unlock()
		time.Sleep(lookEvery)
		if n := newsOf(s); n == nil || !n.Away {
			t.Errorf("got %+v", n)
		}
		time.Sleep(3 * lookEvery)
		if n := newsOf(s); n != nil {
			t.Errorf("told again: %+v", n)
		}
		m.mu.Lock()
		m.away = nil
		m.mu.Unlock()
		time.Sleep(lookEvery)
		if n := newsOf(s); n == nil || n.Away {
			t.Errorf("got %+v", n)
		}
	})
}

func TestPagesAreBoundedInNumberAndNews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, _ := bubble()
		defer l.close()
		var first *stream
		for range maxStreams {
			if first = l.join(); first == nil {
				t.Fatal("refused too early")
			}
		}
		if l.join() != nil {
			t.Error("one too many")
		}
		for id := range int64(10 * maxChanged) {
			first.add(news{IDs: []int64{id}})
		}
		if n := first.take(); len(n.IDs) != maxChanged || n.IDs[maxChanged-1] != 10*maxChanged-1 {
			t.Errorf("%d kept", len(n.IDs))
		}
	})
}

// listen opens the live end of a page.
func listen(ctx context.Context, t *testing.T, v *visitor) *bufio.Scanner {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+"/console/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = got.Body.Close() })
	if kind := got.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("got %d %s", got.StatusCode, kind)
	}
	return bufio.NewScanner(got.Body)
}

func TestLivePageHearsOfAChange(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.memory.put(entry(7, push.SMS, push.Queued))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lines := listen(ctx, t, h.signedIn(t, viewerToken))
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() { // the change comes when the feed has begun, whenever that is; awaited below
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(300 * time.Millisecond):
				h.memory.change(7, func(e *push.Entry) { e.Status = push.Sent })
			}
		}
	}()
	heard := false
	for !heard && lines.Scan() {
		heard = strings.HasPrefix(lines.Text(), `data: {"ids":[7]`)
	}
	close(stop)
	<-ended
	if !heard {
		t.Errorf("nothing was heard: %v", lines.Err())
	}
}

func TestLivePagesEndWithTheProgram(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lines := listen(ctx, t, h.signedIn(t, viewerToken))
	lines.Scan()
	h.console.Close()
	for more := true; more; {
		more = lines.Scan()
	}
	if ctx.Err() != nil {
		t.Error("the stream outlived its program")
	}
}
