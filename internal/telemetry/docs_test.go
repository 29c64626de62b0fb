package telemetry

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pusher/internal/push"
)

// page is what operators read of all this.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/logs-and-metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// described lists every metric of ours with its labels.
func described(t *testing.T) map[string][]string {
	t.Helper()
	m := New("v1")
	NewGateway(m, nil)
	m.WatchHeld(StageAdmitted, func() int { return 0 })
	m.WatchBytes(func() int64 { return 0 })
	m.WatchPartitions(func() []Partition { return nil })
	m.WatchRedis(func() bool { return false })
	m.WatchLanes(func() []Lane { return nil })
	m.WatchToken(func() (time.Duration, bool) { return 0, false })
	m.WatchUnknown(func(context.Context) (int, time.Duration, error) { return 0, 0, nil })
	m.WatchParked(func(context.Context) (int, time.Duration, error) { return 0, 0, nil })
	m.WatchUnsent(func(context.Context) ([]Unsent, error) { return nil, nil })
	m.WatchReady(func(context.Context) map[string]bool { return nil })
	m.Keys()
	descriptions := make(chan *prometheus.Desc, 1000)
	m.registry.Describe(descriptions)
	newPasses().registry.Describe(descriptions)
	close(descriptions)
	name := regexp.MustCompile(`fqName: "(pusher_\w+)"`)
	constant := regexp.MustCompile(`constLabels: \{(\w+)=`)
	variable := regexp.MustCompile(`variableLabels: \{([^}]*)\}`)
	found := map[string][]string{}
	for d := range descriptions {
		of := name.FindStringSubmatch(d.String())
		if of == nil {
			continue
		}
		labels := []string{}
		if l := constant.FindStringSubmatch(d.String()); l != nil {
			labels = append(labels, l[1])
		}
		if l := variable.FindStringSubmatch(d.String()); l != nil && l[1] != "" {
			labels = append(labels, strings.Split(l[1], ",")...)
		}
		found[of[1]] = labels
	}
	return found
}

func TestThePageHoldsEveryMetricWithItsLabelsAndNoOther(t *testing.T) {
	t.Parallel()
	rows := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(pusher_\\w+)` \\| \\w+ \\| (.*?) \\|").FindAllStringSubmatch(page(t), -1) {
		rows[row[1]] = []string{}
		for _, label := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[2], -1) {
			rows[row[1]] = append(rows[row[1]], label[1])
		}
	}
	metrics := described(t)
	for name, labels := range metrics {
		if said, ok := rows[name]; !ok || !slices.Equal(said, labels) {
			t.Errorf("%s has the labels %v, the page says %v (there: %t)", name, labels, said, ok)
		}
	}
	for name := range rows {
		if _, ok := metrics[name]; !ok {
			t.Errorf("the page has %s, and there is no such metric", name)
		}
	}
}

// TestThePageHoldsEveryLogField: the names above, and those that packages write out, since they may not import this one.
func TestThePageHoldsEveryLogField(t *testing.T) {
	t.Parallel()
	constants := regexp.MustCompile(`(?m)^\tField\w+ += "(\w+)"`)
	literals := regexp.MustCompile(`\.(?:Str|Strs|Int|Int64|Uint64|Stringer|Dur|Bool|Time)\("([a-z_]+)", `)
	fields := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, pattern := range []*regexp.Regexp{constants, literals} {
			for _, field := range pattern.FindAllSubmatch(text, -1) {
				if strings.Contains(string(text), "zerolog") || filepath.Base(path) == "log.go" || strings.Contains(string(text), ".Log.") {
					fields[string(field[1])] = true
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !fields[FieldBizType] || !fields[FieldAgainIn] {
		t.Fatalf("the search finds nothing: %v", slices.Sorted(maps.Keys(fields)))
	}
	text := page(t)
	for field := range fields {
		if !strings.Contains(text, "`"+field+"`") {
			t.Errorf("the page lacks the field %s", field)
		}
	}
}

func TestThePageHoldsEveryCountOfAPass(t *testing.T) {
	t.Parallel()
	text, tally := page(t), reflect.TypeFor[push.Tally]()
	for field := range tally.Fields() {
		if name := field.Tag.Get("json"); !strings.Contains(text, "`"+name+"`") {
			t.Errorf("the page lacks the count %s", name)
		}
	}
}
