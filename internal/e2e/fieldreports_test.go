package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	reportRow = regexp.MustCompile(`(?m)^\| ([0-9]{2}) \|.*$`)
	testName  = regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")
	testFunc  = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
	numbered  = regexp.MustCompile(`^TestFieldReport([0-9]{2})`)
)

// TestEveryFieldReportHasItsTests holds the table of docs/proof.md to the tests: each report has some, each of these
// exists, and one that carries a report's number stands in its row.
func TestEveryFieldReportHasItsTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/proof.md")
	if err != nil {
		t.Fatal(err)
	}
	exist := testsOf(t, "../..")
	rows := reportRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) != 36 {
		t.Fatalf("%d field reports in the table, want 36", len(rows))
	}
	for i, row := range rows {
		if row[1] != strconv.Itoa(101 + i)[1:] {
			t.Errorf("row %d is of report %s", i+1, row[1])
		}
		names := testName.FindAllStringSubmatch(row[0], -1)
		if len(names) == 0 {
			t.Errorf("report %s has no test", row[1])
		}
		for _, name := range names {
			if !exist[name[1]] {
				t.Errorf("report %s: there is no %s", row[1], name[1])
			}
			of := numbered.FindStringSubmatch(name[1])
			if of != nil && of[1] != row[1] && !strings.Contains(name[1], "_"+row[1]+"_") {
				t.Errorf("%s stands in the row of report %s", name[1], row[1])
			}
		}
	}
}

// testsOf finds the names of all tests of the tree.
func testsOf(t *testing.T, root string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range testFunc.FindAllStringSubmatch(string(text), -1) {
			names[name[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
