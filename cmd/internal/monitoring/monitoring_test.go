package monitoring_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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
	testenv.Check(t, err)
	for name, want := range files {
		path := filepath.Join(contrib, name)
		if *update {
			testenv.Check(t, os.WriteFile(path, []byte(want), 0o644))
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

// There is an alert for every kind of thing that needs somebody.
func TestEachNeedHasAnAlert(t *testing.T) {
	queries := strings.Join(monitoring.Queries(), "\n")
	others := map[string]string{
		figures.NeedJudging: "milter_breaker", figures.NeedReports: "ledger_fault", figures.NeedRedis: "exchange_connected", figures.NeedSites: "site_state",
		figures.NeedDamaged: "db_damaged_files", figures.NeedClock: "db_clock_jump_seconds", figures.NeedTraps: "trap_fault",
		figures.NeedHistory: "history_fault", figures.NeedMail: "messages_total[6h]",
	}
	for _, n := range figures.Needs {
		asked := `needs{kind="` + n.Key + `"} >`
		if other, ok := others[n.Key]; ok {
			asked = other
		}
		if !strings.Contains(queries, figures.Prefix+asked) {
			t.Errorf("no alert asks for %s", asked)
		}
	}
}

// Prometheus' own check has nothing to say about any metric of the table, also about those
// that a new daemon does not have.
func TestNamesAreConventional(t *testing.T) {
	promtool := testenv.Program(t, "promtool")
	var text strings.Builder
	for _, part := range figures.Table {
		for _, m := range part.Metrics {
			name, labels := figures.Prefix+m.Name, ""
			for _, label := range m.Labels {
				labels += label + `="x",`
			}
			fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, m.Help, m.Type)
			if m.Type == figures.Histogram {
				fmt.Fprintf(&text, "%s_bucket{le=\"+Inf\"} 1\n%[1]s_sum 1\n%[1]s_count 1\n", name)
			} else {
				fmt.Fprintf(&text, "%s{%s} 1\n", name, labels)
			}
		}
	}
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(text.String())
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
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
