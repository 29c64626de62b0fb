package chaos

import (
	"errors"
	"os/exec"
	"strconv"
	"testing"
)

func TestAnAuditIsBelievedWhereExitCodeAndReportAgree(t *testing.T) {
	t.Parallel()
	const none, one = `{"deliveries": 3, "gaps": []}`, `{"deliveries": 3, "gaps": [{"kind": "no_row"}]}`
	for name, c := range map[string]struct {
		text  string
		exit  int
		gaps  int
		fails bool
	}{
		"nothing":                   {none, 0, 0, false},
		"a gap":                     {one, 1, 1, false},
		"a gap, and exit 0":         {one, 0, 1, true},
		"nothing, and exit 1":       {none, 1, 0, true},
		"a service away":            {"", 1, 0, true},
		"a wrong flag":              {none, 2, 0, true},
		"no report, and exit 0":     {"audited", 0, 0, true},
		"killed in the midst of it": {one[:10], 1, 0, true},
	} {
		ended := exec.CommandContext(t.Context(), "sh", "-c", "exit "+strconv.Itoa(c.exit)).Run()
		report, err := readAudit([]byte(c.text), ended)
		if (err != nil) != c.fails || len(report.Gaps) != c.gaps && !errors.Is(err, errContradiction) {
			t.Errorf("%s: %d gaps, %v", name, len(report.Gaps), err)
		}
		if !c.fails && report.Deliveries != 3 {
			t.Errorf("%s: read %+v", name, report)
		}
	}
}
