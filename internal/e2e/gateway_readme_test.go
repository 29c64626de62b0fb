package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// readmeBlock is the shell block of README.md that has this line in it.
func readmeBlock(t *testing.T, line string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(text), "```")[1:] {
		if sh, ok := strings.CutPrefix(block, "sh\n"); ok && strings.Contains(sh, line) {
			return sh
		}
	}
	t.Fatalf("README.md has no block with %q", line)
	return ""
}

// TestTheReadmesExamplesOfTheDoor: what the README shows a producer works as it stands there, but for the address and the
// credential.
func TestTheReadmesExamplesOfTheDoor(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"sh", "curl", "openssl", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	const runs = "bin/pusher gateway   "
	_, here, found := strings.Cut(readmeBlock(t, "cat > events.jsonl"), "cat > events.jsonl")
	events, _, ended := strings.Cut(here, "\nEND\n")
	before, after, parted := strings.Cut(readmeBlock(t, "gateway credential orders"), runs)
	if !found || !ended || !parted {
		t.Fatal("README.md shows the door in another way")
	}
	in := install(t, nil)
	addr := freePort(t)
	if err := os.Symlink(in.bin, filepath.Join(in.dir, "bin")); err != nil {
		t.Fatal(err)
	}
	in.env["PUSHER_GATEWAY_ADDR"] = addr
	sh := func(script string) string {
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
		cmd.Dir, cmd.Env = in.dir, os.Environ()
		for key, value := range in.env {
			cmd.Env = append(cmd.Env, key+"="+value)
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s\n%s\n%v", script, out, err)
		}
		return string(out)
	}
	sh("cat > events.jsonl" + events + "\nEND\n")
	var secret, entry string
	said := sh(strings.SplitAfter(before, "\n")[0])
	if n, err := fmt.Sscanf(said, "credential: %s\nentry: %s\n", &secret, &entry); n != 2 {
		t.Fatalf("%s: %v", said, err)
	}
	exports := strings.ReplaceAll(strings.SplitAfter(before, "\n")[1], "orders=sha256:...", entry)
	said = sh(exports + `echo "$PUSHER_GATEWAY_PRODUCERS $PUSHER_GATEWAY_TOKEN_KEY"`)
	in.env["PUSHER_GATEWAY_PRODUCERS"], in.env["PUSHER_GATEWAY_TOKEN_KEY"], _ = strings.Cut(strings.TrimSpace(said), " ")
	door := in.start("pusher", "", "gateway")
	door.says("the front door is open")

	_, after, _ = strings.Cut(after, "\n") // behind its comment
	said = sh(strings.NewReplacer("pgw_...", secret, "127.0.0.1:8081", addr).Replace(after))
	if n := strings.Count(said, "HTTP/1.1 202 Accepted"); n != 3 || !strings.Contains(said, "1 event accepted by http://"+addr) {
		t.Errorf("%d answers are 202: %s", n, said)
	}
	if keys := in.topicKeys(); keys["10248"] != 3 || keys["1"] != 1 { // by key, by token, and by send: three requests
		t.Errorf("on the topic: %v", keys)
	}
	door.Signal(syscall.SIGTERM)
	if code := door.code(); code != 0 {
		t.Errorf("the gateway ended with %d", code)
	}
}
