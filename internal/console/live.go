package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"pusher/internal/push"
)

// The pace and the bounds of the live streams.
const (
	lookEvery  = time.Second
	overlap    = 2 * time.Second
	beatEvery  = 15 * time.Second
	writeMost  = 10 * time.Second // for one write to a reader
	maxStreams = 200
	maxChanged = 200 // deliveries told at once; a page only wants to know that it is old
)

// live tells open pages which deliveries changed. One look a second serves them all, and nobody looks while no page
// is open.
type live struct {
	source func() (Source, error)
	cfg    Config

	mu      sync.Mutex
	streams map[*stream]struct{} // guarded by mu
	stop    context.CancelFunc   // guarded by mu; ends the feed, nil while there is none
	closed  bool                 // guarded by mu
	feeds   sync.WaitGroup       // close waits for it
	ended   chan struct{}        // closed by close: ends the streams
}

// stream is one page that listens.
type stream struct {
	wake chan struct{} // room for one
	mu   sync.Mutex
	news news // guarded by mu; since the last write
}

// news is what a page is told.
type news struct {
	IDs  []int64 `json:"ids"`  // deliveries that changed
	Away bool    `json:"away"` // the push log does not answer
}

func newLive(source func() (Source, error), cfg Config) *live {
	return &live{source: source, cfg: cfg, streams: map[*stream]struct{}{}, ended: make(chan struct{})}
}

// join adds a page; nil when there are too many, or at the end.
func (l *live) join() *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.streams) >= maxStreams {
		return nil
	}
	s := &stream{wake: make(chan struct{}, 1)}
	l.streams[s] = struct{}{}
	if l.stop == nil {
		var ctx context.Context
		ctx, l.stop = context.WithCancel(context.Background())
		l.feeds.Go(func() { l.feed(ctx) })
	}
	return s
}

// leave takes a page out; the last one ends the feed.
func (l *live) leave(s *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.streams, s)
	if len(l.streams) == 0 && l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// close ends every stream and waits for the feed.
func (l *live) close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.ended)
	}
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
	l.mu.Unlock()
	l.feeds.Wait()
}

// feed looks once a second until ctx ends.
func (l *live) feed(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	seen, away := &glance{}, false
	for {
		ids, err := l.look(ctx, seen)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !away:
			l.cfg.Log.Warn().Err(err).Msg("console: live pages stand still")
			l.tell(news{Away: true})
		case err == nil && (len(ids) > 0 || away):
			l.tell(news{IDs: ids})
		}
		away = err != nil
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// glance is what the last look saw. A change is seen when it commits, which may be a little after its time: looks
// overlap, and what was told is not told again.
type glance struct {
	at   time.Time           // of the look, by the push log's clock
	told map[int64]time.Time // the changes told since, within the overlap
}

// look asks what changed, patiently but not for ever.
func (l *live) look(ctx context.Context, seen *glance) ([]int64, error) {
	from, err := l.source()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, writeMost)
	defer cancel()
	since := seen.at
	if !since.IsZero() {
		since = since.Add(-overlap)
	}
	changed, now, err := from.Log.Changes(ctx, push.Filter{}, since, 0, maxChanged)
	if err != nil {
		return nil, err
	}
	ids, told := []int64{}, map[int64]time.Time{}
	for _, e := range changed {
		if !seen.told[e.ID].Equal(e.UpdatedAt) {
			ids = append(ids, e.ID)
		}
		told[e.ID] = e.UpdatedAt
	}
	seen.at, seen.told = now, told
	if len(changed) == maxChanged { // there is more: go on where this look ended
		seen.at = changed[len(changed)-1].UpdatedAt.Add(overlap)
	}
	return ids, nil
}

// tell leaves the news with every page, without waiting for any.
func (l *live) tell(n news) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.streams {
		s.add(n)
	}
}

func (s *stream) add(n news) {
	s.mu.Lock()
	s.news.Away = n.Away
	if s.news.IDs = append(s.news.IDs, n.IDs...); len(s.news.IDs) > maxChanged {
		s.news.IDs = s.news.IDs[len(s.news.IDs)-maxChanged:]
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // it is awake already
	}
}

// take is what to write now.
func (s *stream) take() news {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.news
	s.news.IDs = nil
	return n
}

// errBusy says that too many pages listen.
var errBusy = errors.New("too many live pages are open")

// stream is the live end of a page: server-sent events until the page, the session or the program ends.
func (c *Console) stream(w http.ResponseWriter, r *http.Request, v *visit) error {
	s := c.live.join()
	if s == nil {
		return errBusy
	}
	defer c.live.leave(s)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx passes each event on at once
	out := sse{w: w, control: http.NewResponseController(w)}
	_ = out.control.SetReadDeadline(time.Time{}) // the server's would end a stream that only listens
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	over := time.NewTimer(v.Session.Until.Sub(v.now))
	defer over.Stop()
	err := out.write("retry: 3000\n: welcome\n\n")
	for err == nil {
		select {
		case <-s.wake:
			text, _ := json.Marshal(s.take()) // numbers and a flag
			err = out.write(fmt.Sprintf("event: news\ndata: %s\n\n", text))
		case <-beat.C:
			err = out.write(": beat\n\n")
		case <-over.C:
			return nil
		case <-c.live.ended:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
	return nil // the reader is gone
}

// sse writes events, each with a deadline of its own.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (s sse) write(text string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeMost)) // a writer without deadlines has none to extend
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}
