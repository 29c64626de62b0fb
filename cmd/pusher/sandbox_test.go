package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"pusher/internal/cli"
)

func TestSandboxServesUntilItIsEnded(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	nothing := func(string) (string, bool) { return "", false }
	faults := file(t, `{"faults":[{"kind":"latency","delay":"1ms","share":0.5}]}`)
	told := file(t, `{"urls":{"aliyun":"http://127.0.0.1:1/receipts/aliyun"},"delay":"2s"}`)
	asked := file(t, `{"lag":"1s"}`)
	go func() {
		ended <- run(ctx, []string{"sandbox", "--addr", "127.0.0.1:0", "--faults", faults, "--receipts", told, "--queries", asked}, nothing, strings.NewReader(""), write, io.Discard)
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSpace(strings.TrimPrefix(line, "provider sandbox on "))
	answer, err := http.Get(base + "/_sandbox/faults")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if answer.StatusCode != 200 || !strings.Contains(string(body), `"latency"`) {
		t.Errorf("got %d %s", answer.StatusCode, body)
	}
	stop()
	if err := <-ended; cli.ExitCode(err) != cli.ExitOK {
		t.Error(err)
	}
}

func TestSandboxRefusesFilesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--faults", file(t, `{"faults":[{"kind":"mood"}]}`)}, {"--faults", file(t, "[")}, {"--faults", "/nowhere"},
		{"--receipts", file(t, `{"urls":{"twilio":"http://127.0.0.1:1"}}`)}, {"--receipts", file(t, `{"aes_key":"short"}`)},
		{"--faults", file(t, `{"rules":[]}`)}, {"--queries", file(t, `{"lag":1}`)},
	} {
		if got := execute(t.Context(), "", append([]string{"sandbox", "--addr", "127.0.0.1:0"}, args...)...); got.code != 2 {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
