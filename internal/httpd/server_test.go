package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves the checks until the test ends and gives the base URL.
func start(t *testing.T, checks ...Check) (s *Server, base string) {
	t.Helper()
	s = New(http.NotFoundHandler(), checks)
	if err := s.Listen(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s, "http://" + s.Addr()
}

func get(t *testing.T, url string) (code int, body string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func ok(context.Context) error   { return nil }
func away(context.Context) error { return errors.New("dialing 127.0.0.1:6379: refused") }

func TestHealthzAnswersWhateverTheDependenciesDo(t *testing.T) {
	t.Parallel()
	_, base := start(t, Check{Name: "redis", Probe: away})
	if code, body := get(t, base+"/healthz"); code != 200 || !strings.Contains(body, `"status":"ok"`) {
		t.Errorf("got %d %s", code, body)
	}
}

func TestReadyzNamesEachDependency(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		checks []Check
		code   int
		status string
		redis  string
	}{
		"all there":   {[]Check{{Name: "redis", Probe: ok}, {Name: "postgres", Probe: ok}}, 200, "ok", "ok"},
		"needed away": {[]Check{{Name: "redis", Probe: away}, {Name: "postgres", Probe: ok}}, 503, "unavailable", "unavailable"},
		"spare away":  {[]Check{{Name: "redis", Probe: away, Spare: true}}, 200, "ok", "unavailable"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, base := start(t, c.checks...)
			code, body := get(t, base+"/readyz")
			var answer readiness
			if err := json.Unmarshal([]byte(body), &answer); err != nil {
				t.Fatal(err)
			}
			redis := answer.Checks["redis"]
			if code != c.code || answer.Status != c.status || redis.Status != c.redis || len(answer.Checks) != len(c.checks) {
				t.Errorf("got %d %s", code, body)
			}
			if (redis.Error != "") != (c.redis != "ok") {
				t.Errorf("error %q", redis.Error)
			}
		})
	}
}

func TestReadyzTurnsOverWithTheDependency(t *testing.T) {
	t.Parallel()
	answers := make(chan error, 2)
	_, base := start(t, Check{Name: "kafka", Probe: func(context.Context) error { return <-answers }})
	answers <- errors.New("no partition assigned")
	if code, _ := get(t, base+"/readyz"); code != 503 {
		t.Errorf("got %d while away", code)
	}
	answers <- nil
	if code, _ := get(t, base+"/readyz"); code != 200 {
		t.Errorf("got %d when back", code)
	}
}

func TestCheckThatHangsIsCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		began := time.Now()
		got := probe(t.Context(), []Check{
			{Name: "deaf", Probe: func(context.Context) error { <-hang; return nil }},
			{Name: "redis", Probe: ok},
		})
		if took := time.Since(began); took != checkTimeout {
			t.Errorf("took %s", took)
		}
		if got.Status != statusUnavailable || got.Checks["redis"].Status != statusOK || got.Checks["deaf"].Error == "" {
			t.Errorf("got %+v", got)
		}
		close(hang)
	})
}

func TestOthersMayHangPagesOnTheMux(t *testing.T) {
	t.Parallel()
	s, base := start(t)
	s.Mux.HandleFunc("POST /receipts/aliyun", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	r, err := http.Post(base+"/receipts/aliyun", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	if r.StatusCode != http.StatusTeapot {
		t.Errorf("got %d", r.StatusCode)
	}
}

func TestAddressInUseIsNamed(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	err := New(http.NotFoundHandler(), nil).Listen(t.Context(), s.Addr())
	if err == nil || !strings.Contains(err.Error(), "listening on "+s.Addr()) {
		t.Errorf("got %v", err)
	}
}

func TestRequestUnderWayIsFinishedAtTheEnd(t *testing.T) {
	t.Parallel()
	s := New(http.NotFoundHandler(), nil)
	ctx, stop := context.WithCancel(t.Context())
	s.Mux.HandleFunc("GET /slow", func(w http.ResponseWriter, _ *http.Request) {
		stop() // the end begins while this request is under way
		<-ctx.Done()
		_, _ = io.WriteString(w, "whole")
	})
	if err := s.Listen(ctx, "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	if _, body := get(t, "http://"+s.Addr()+"/slow"); body != "whole" {
		t.Errorf("got %q", body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestStreamsEndWhenTheServerDoes(t *testing.T) {
	t.Parallel()
	s := New(http.NotFoundHandler(), nil)
	over := make(chan struct{})
	s.AtEnd(func() { close(over) })
	ctx, stop := context.WithCancel(t.Context())
	s.Mux.HandleFunc("GET /stream", func(w http.ResponseWriter, _ *http.Request) {
		stop()
		<-over
		_, _ = io.WriteString(w, "ended")
	})
	if err := s.Listen(ctx, "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	if _, body := get(t, "http://"+s.Addr()+"/stream"); body != "ended" {
		t.Errorf("got %q", body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
