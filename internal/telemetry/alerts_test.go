package telemetry

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

const deploy = "../../deploy/"

// alert is one alert of deploy/prometheus/alerts.yml.
type alert struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func alerts(t *testing.T) []alert {
	t.Helper()
	var file struct{ Groups []struct{ Rules []alert } }
	if err := yaml.Unmarshal(read(t, "prometheus/alerts.yml"), &file); err != nil {
		t.Fatal(err)
	}
	var all []alert
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 20 {
		t.Fatalf("%d alerts", len(all))
	}
	return all
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(deploy + path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// dashboard lists the expressions of deploy/grafana/pusher.json.
func dashboard(t *testing.T) []string {
	t.Helper()
	var board struct {
		Panels []struct {
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(read(t, "grafana/pusher.json"), &board); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			list = append(list, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
		}
	}
	return list
}

// named checks the metrics and labels that an expression asks for, and returns the metrics.
func named(t *testing.T, expression string, metrics map[string][]string) []string {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %v", expression, err)
		return nil
	}
	var names []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok || !strings.HasPrefix(selector.Name, "pusher_") {
			return nil
		}
		name := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(selector.Name, "")
		has, known := metrics[name]
		if !known {
			t.Errorf("%s: there is no metric %s", expression, name)
		}
		for _, m := range selector.LabelMatchers {
			if m.Name != model.MetricNameLabel && !slices.Contains(has, m.Name) {
				t.Errorf("%s: %s has no label %s", expression, name, m.Name)
			}
		}
		names = append(names, name)
		return nil
	})
	return names
}

func TestAlertsAskForWhatThereIs(t *testing.T) {
	t.Parallel()
	metrics := described(t)
	for _, a := range alerts(t) {
		if len(named(t, a.Expr, metrics)) == 0 && a.Alert != "PusherDown" {
			t.Errorf("%s asks for no metric of ours", a.Alert)
		}
	}
}

func TestDashboardShowsEveryMetricAndNoOther(t *testing.T) {
	t.Parallel()
	metrics := described(t)
	shown := map[string]bool{}
	for _, expression := range dashboard(t) {
		for _, name := range named(t, expression, metrics) {
			shown[name] = true
		}
	}
	for name := range metrics {
		if !shown[name] {
			t.Errorf("the dashboard lacks %s", name)
		}
	}
}

func TestEachAlertHasItsPageAndItsTest(t *testing.T) {
	t.Parallel()
	tested := string(read(t, "prometheus/alerts_test.yml"))
	pages, err := filepath.Glob(deploy + "runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alerts(t) {
		page := "runbooks/" + a.Alert + ".md"
		text := string(read(t, page))
		for _, part := range []string{"# " + a.Alert, "## What it means", "## What users see", "## What to look at", "## What to do", "## What not to do", a.Expr} {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q", page, part)
			}
		}
		if a.For == "" || a.Annotations["summary"] == "" || a.Annotations["runbook_url"] != "deploy/"+page ||
			!slices.Contains([]string{"critical", "warning"}, a.Labels["severity"]) {
			t.Errorf("%s lacks a wait, a severity, a summary or its page: %+v", a.Alert, a)
		}
		for _, test := range []string{a.Alert + " fires", a.Alert + " is quiet"} {
			if !strings.Contains(tested, test) {
				t.Errorf("no test says that %s", test)
			}
		}
		pages = slices.DeleteFunc(pages, func(p string) bool { return p == filepath.Clean(deploy+page) || p == deploy+page })
	}
	if len(pages) > 0 {
		t.Errorf("pages of no alert: %v", pages)
	}
}

// TestPromtoolTakesTheAlerts runs their own unit tests where there is a promtool; CI brings one.
func TestPromtoolTakesTheAlerts(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool on this machine (Debian: prometheus)")
	}
	for _, args := range [][]string{
		{"check", "rules", deploy + "prometheus/alerts.yml"}, {"test", "rules", deploy + "prometheus/alerts_test.yml"},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
