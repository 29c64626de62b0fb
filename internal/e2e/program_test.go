package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pusher/internal/config"
	"pusher/internal/fault"
	"pusher/internal/sandbox/local"
	"pusher/internal/testbed"
)

// programsDir is where this run has its programs; TestMain removes it.
func programsDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("pusher-e2e-%d", os.Getpid()))
}

// programs builds both programs once, into a directory that the package's tests share.
var programs = sync.OnceValues(func() (dir string, err error) {
	dir = programsDir()
	build := exec.Command("go", "build", "-o", dir+"/", "./cmd/pusher", "./cmd/compensator")
	_, here, _, _ := runtime.Caller(0)
	build.Dir = filepath.Join(filepath.Dir(here), "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the programs: %w\n%s", err, out)
	}
	return dir, nil
})

// quickSettings are what the programs read here: what takes minutes in production takes seconds.
const quickSettings = `
kafka: {session_timeout: 6s}
postgres: {max_conns: 4}
worker: {in_flight: 16, grace: 5s}
dedup: {lease: 2s}
http: {addr: "127.0.0.1:0"}
retry: {first: 200ms, max: 1s, jitter: 0, inline: 0}
channels:
  notify: {timeout: 900ms}
  sms:
    timeout: 900ms
    ask_for: 4s
    aliyun: {access_key_id: sandbox, access_key_secret: sandbox-secret, sign_name: Test}
    tencent: {secret_id: sandbox, secret_key: sandbox-secret, sdk_app_id: "1400000000", sign_name: Test}
    providers: [aliyun]
  wechat: {timeout: 900ms, app_id: sandbox, app_secret: sandbox-secret}
pushes:
  resume_viewed:
    actions:
      notify: {title: "Your resume was viewed", body: "{{.company}} viewed your resume"}
      sms: {aliyun: {template: SMS_10001, params: {company: "{{.company}}"}}, tencent: {template: "20001", params: ["{{.company}}"]}}
      wechat: {template: TPL1, data: {thing1: "{{.company}}"}}
`

// installation is a system whose pushers and compensators are processes.
type installation struct {
	*system

	bin string
	dir string            // configuration and logs
	env map[string]string // PUSHER_*: of the programs, and of this test's own passes
}

// install makes a system of one partition with settings over quickSettings.
func install(t *testing.T, settings map[string]string) *installation {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	dir, redis := t.TempDir(), testbed.Redis(t)
	path := filepath.Join(dir, "pusher.yaml")
	if err := os.WriteFile(path, []byte(quickSettings), 0o600); err != nil {
		t.Fatal(err)
	}
	in := &installation{bin: bin, dir: dir, env: map[string]string{
		"PUSHER_CONFIG":        path,
		"PUSHER_KAFKA_BROKERS": strings.Join(testbed.Kafka(t), ","), "PUSHER_KAFKA_TOPIC": testbed.Topic(t, 1),
		"PUSHER_KAFKA_RETRY_TOPIC": testbed.Topic(t, 1), "PUSHER_KAFKA_DEAD_LETTER_TOPIC": testbed.Topic(t, 1),
		"PUSHER_KAFKA_GROUP": testbed.Unique(t),
		"PUSHER_REDIS_ADDRS": redis.Addr, "PUSHER_REDIS_DB": strconv.Itoa(redis.DB),
		"PUSHER_POSTGRES_URL": testbed.Postgres(t),
	}}
	maps.Copy(in.env, settings)
	cfg, _, err := config.Load(path, func(name string) (string, bool) { v, ok := in.env[name]; return v, ok }, nil)
	if err != nil {
		t.Fatal(err)
	}
	in.system = connect(t, cfg)
	for _, key := range []string{"SMS_ALIYUN", "SMS_TENCENT", "WECHAT"} {
		in.env["PUSHER_CHANNELS_"+key+"_ENDPOINT"] = in.sandbox.URL()
	}
	return in
}

// program is one process of an installation.
type program struct {
	*local.Process

	name, log string
	t         testing.TB
}

// start starts a program with faults set ("" for none); it is gone at the test's end.
func (in *installation) start(name, faults string, args ...string) *program {
	in.t.Helper()
	log, err := os.CreateTemp(in.dir, name+"-*.log")
	if err != nil {
		in.t.Fatal(err)
	}
	_ = log.Close()
	cmd := exec.Command(filepath.Join(in.bin, name), args...)
	cmd.Env = append(os.Environ(), fault.Variable+"="+faults)
	for key, value := range in.env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	proc, err := local.StartProcess(cmd, log.Name())
	if err != nil {
		in.t.Fatal(err)
	}
	p := &program{Process: proc, name: name, log: log.Name(), t: in.t}
	in.t.Cleanup(func() {
		p.End(syscall.SIGKILL, soon)
		if in.t.Failed() {
			in.t.Logf("%s (%s):\n%s", name, faults, p.output())
		}
	})
	return p
}

// pusher starts a pusher.
func (in *installation) pusher(faults string) *program {
	in.t.Helper()
	return in.start("pusher", faults, "run")
}

// output is all that the program has written.
func (p *program) output() string {
	text, _ := os.ReadFile(p.log)
	return string(text)
}

// says waits until the program has written this.
func (p *program) says(what string) {
	p.t.Helper()
	for deadline := time.Now().Add(soon); !strings.Contains(p.output(), what); time.Sleep(20 * time.Millisecond) {
		select {
		case <-p.Ended():
			if !strings.Contains(p.output(), what) {
				p.t.Fatalf("%s ended (%v) and never said %q", p.name, p.Err(), what)
			}
		default:
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s never said %q", p.name, what)
		}
	}
}

// gone waits for the program's end.
func (p *program) gone() {
	p.t.Helper()
	select {
	case <-p.Ended():
	case <-time.After(soon):
		p.t.Fatalf("%s never ended", p.name)
	}
}

// code is how the program ended: its exit code, or 128 and the signal that killed it.
func (p *program) code() int {
	p.t.Helper()
	p.gone()
	exit, ok := errors.AsType[*exec.ExitError](p.Err())
	if !ok {
		return 0
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// retire ends the program as an operator would; it must end well.
func (p *program) retire() {
	p.t.Helper()
	select {
	case <-p.Ended():
		return
	default:
	}
	if p.name == "pusher" {
		p.says("consuming") // a signal before that finds a program that does not listen yet
	}
	p.End(syscall.SIGTERM, soon)
	if p.Err() != nil {
		p.t.Errorf("%s ended with %v after SIGTERM", p.name, p.Err())
	}
}

// passes runs passes of the compensator until done, or the time is over.
func (in *installation) passes(most time.Duration, done func() bool) bool {
	in.t.Helper()
	for deadline := time.Now().Add(most); ; time.Sleep(600 * time.Millisecond) {
		if done() {
			return true
		}
		if time.Now().After(deadline) || in.t.Context().Err() != nil {
			return false
		}
		in.pass()
	}
}

// wait waits, unless the test ends before.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
