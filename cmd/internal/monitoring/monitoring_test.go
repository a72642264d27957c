package monitoring_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/monitoring"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/figures"
)

var update = flag.Bool("update", false, "rewrite the files")

const contrib = "../../../contrib"

// The files in contrib are those that the table makes.
func TestFiles(t *testing.T) {
	files, err := monitoring.Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		path := filepath.Join(contrib, name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s differs (%v): run make generate", path, err)
		}
	}
}

var metric = regexp.MustCompile(`spambloom_[a-z_]+`)

// Every metric that a query names is in the table.
func TestQueriesNameMetrics(t *testing.T) {
	known := map[string]bool{}
	for _, part := range figures.Table {
		for _, m := range part.Metrics {
			known[figures.Prefix+m.Name] = true
			if m.Type == figures.Histogram {
				known[figures.Prefix+m.Name+"_bucket"] = true
			}
		}
	}
	for _, q := range monitoring.Queries() {
		for _, name := range metric.FindAllString(q, -1) {
			if !known[name] {
				t.Errorf("%s: there is no %s", q, name)
			}
		}
	}
}

// Prometheus accepts the alerts, and each fires when it should and not before.
func TestAlerts(t *testing.T) {
	promtool := testenv.Program(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "spambloom.rules.yml"}, {"test", "rules", "spambloom.rules.test.yml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = filepath.Join(contrib, "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s %s: %v\n%s", args[0], args[1], err, out)
		}
	}
}
