package chaos

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// echo answers each byte with itself until the test ends.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		wg.Wait()
	})
	return listener.Addr().String()
}

// opened is one line to an echo.
func opened(t *testing.T) (l *lines, addr string) {
	t.Helper()
	l = newLines()
	upstream := echo(t)
	t.Cleanup(l.close)
	addr, err := freeAddr()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.add("line", addr, upstream); err != nil {
		t.Fatal(err)
	}
	return l, addr
}

// asked sends a byte over a new connection and returns how its answer came.
func asked(t *testing.T, addr string, patience time.Duration) error {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write([]byte{1}); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	return err
}

const long = 5 * time.Second

func TestALineIsCutAndMended(t *testing.T) {
	t.Parallel()
	l, addr := opened(t)
	if err := asked(t, addr, long); err != nil {
		t.Fatal(err)
	}
	l.cut("line")
	if err := asked(t, addr, long); err == nil {
		t.Error("a line that is cut answers")
	}
	if err := l.mend("line"); err != nil {
		t.Fatal(err)
	}
	if err := asked(t, addr, long); err != nil {
		t.Errorf("a mended line: %v", err)
	}
}

func TestABlackHoleAnswersNothingUntilItIsMended(t *testing.T) {
	t.Parallel()
	for name, toxics := range map[string][]string{"both ways": hungToxics(), "requests": halfHungToxics(0), "answers": halfHungToxics(1)} {
		l, addr := opened(t)
		if err := l.poison("line", toxics...); err != nil {
			t.Fatal(err)
		}
		var late net.Error
		if err := asked(t, addr, 100*time.Millisecond); !errors.As(err, &late) || !late.Timeout() {
			t.Errorf("%s: %v, want no answer in time", name, err)
		}
		if err := l.mend("line"); err != nil {
			t.Fatal(err)
		}
		if err := asked(t, addr, long); err != nil {
			t.Errorf("%s, mended: %v", name, err)
		}
	}
}

func TestAResetLineGivesNoAnswer(t *testing.T) {
	t.Parallel()
	l, addr := opened(t)
	if err := l.poison("line", resetToxics(0)...); err != nil {
		t.Fatal(err)
	}
	if err := asked(t, addr, long); err == nil {
		t.Error("a line that resets answers")
	}
}

func TestASlowLineIsSlowInOneDirectionAtLeast(t *testing.T) {
	t.Parallel()
	for draw := range uint64(3) {
		l, addr := opened(t)
		if err := l.poison("line", slowToxics(draw<<32)...); err != nil { // 100 ms, 50 of them by chance
			t.Fatal(err)
		}
		began := time.Now()
		if err := asked(t, addr, long); err != nil {
			t.Errorf("a slow line: %v", err)
		}
		if took := time.Since(began); took < 50*time.Millisecond {
			t.Errorf("draw %d: %v, want 50 ms or more", draw, took)
		}
	}
}
