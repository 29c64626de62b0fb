package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pusher/internal/operate"
	"pusher/internal/sandbox/provider"
)

const (
	auditMost  = 3 * time.Minute
	clocksMost = time.Minute // by which the clocks of Kafka, PostgreSQL and this process may differ
)

// errContradiction is an audit whose exit code belies its report.
var errContradiction = errors.New("the exit code says other than the report")

// audit runs `pusher log audit` over everything since began, as an operator would: Kafka, the push log, Redis, and each
// SMS at Aliyun. No line, and so no fault, stands between it and the services.
func (r *run) audit(ctx context.Context, began time.Time) (operate.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, auditMost)
	defer cancel()
	moment := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	cmd := exec.CommandContext(ctx, filepath.Join(r.Bin, "pusher"), "log", "audit", "--json", "--provider", provider.Aliyun,
		"--from", moment(began.Add(-clocksMost)), "--to", moment(time.Now().Add(clocksMost)))
	cmd.Env = r.world.environment(func(service string) string { return r.world.direct[service] })
	var told, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &told, &complaints
	ended := cmd.Run()
	report, err := readAudit(told.Bytes(), ended)
	if err != nil {
		return report, fmt.Errorf("auditing: %w: %s", err, strings.TrimSpace(complaints.String()))
	}
	if len(report.Gaps) == 0 {
		return report, nil
	}
	return report, os.WriteFile(filepath.Join(r.world.dir, "audit.json"), told.Bytes(), 0o600)
}

// readAudit reads what the program printed. Its exit code must say what its report says: 1 exactly if there are gaps.
func readAudit(text []byte, ended error) (report operate.Report, err error) {
	var exit *exec.ExitError
	if ended != nil && (!errors.As(ended, &exit) || exit.ExitCode() != 1) {
		return report, ended
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return report, errors.Join(err, ended)
	}
	if gaps := len(report.Gaps); (gaps > 0) != (exit != nil) {
		return report, fmt.Errorf("%w: %d gaps, exit 1: %t", errContradiction, gaps, exit != nil)
	}
	return report, nil
}
