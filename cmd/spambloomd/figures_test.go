package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/cmd/internal/trap"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/figures"
)

// scraped returns the metrics of a daemon that has everything: an exchange and a trap.
func scraped(t *testing.T) (*service, string) {
	d, _ := monitored(t)
	client, err := exchange.Dial("redis://127.0.0.1:1/0", exchange.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	d.exchange = exchange.New(d.db, client, d.db.Status().KeyID, exchange.Options{Log: d.log})
	d.traps = map[string]*trap.Trap{"lure": trap.New(trap.Options{Maildir: t.TempDir(), Log: d.log})}
	w := httptest.NewRecorder()
	d.newHTTP().Handler.ServeHTTP(w, monitorGet("/metrics"))
	return d, w.Body.String()
}

// What Prometheus' own check says of the metrics is nothing, from the first scrape on.
func TestMetricsAreConventional(t *testing.T) {
	promtool := testenv.Program(t, "promtool")
	_, text := scraped(t)
	file := filepath.Join(t.TempDir(), "metrics")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := harness.Execute(t, "", "sh", "-c", promtool+" check metrics <"+file)
	if r.Code != 0 || r.Stdout+r.Stderr != "" {
		t.Errorf("promtool check metrics: %d %s%s", r.Code, r.Stdout, r.Stderr)
	}
}

var described = regexp.MustCompile(`(?m)^# (HELP|TYPE) spambloom_(\S+) (.*)$`)

// The metrics of the daemon are those of the table, with the same texts and types.
func TestMetricsAreThoseOfTheTable(t *testing.T) {
	_, text := scraped(t)
	got := map[string][2]string{}
	for _, m := range described.FindAllStringSubmatch(text, -1) {
		of := got[m[2]]
		if m[1] == "HELP" {
			of[0] = m[3]
		} else {
			of[1] = m[3]
		}
		got[m[2]] = of
	}
	for _, part := range figures.Table {
		for _, m := range part.Metrics {
			of, ok := got[m.Name]
			delete(got, m.Name)
			switch {
			case !ok && !slices.Contains(figures.Rare, m.Name):
				t.Errorf("%s is in the table, and not in a scrape", m.Name)
			case ok && of != [2]string{m.Help, string(m.Type)}:
				t.Errorf("%s: %q, and in the table %q, %s", m.Name, of, m.Help, m.Type)
			}
			for _, label := range m.Labels {
				if ok && !slices.Contains(figures.Rare, m.Name) && !regexp.MustCompile(`(?m)^spambloom_`+m.Name+`\{[^}]*\b`+label+`="`).MatchString(text) {
					t.Errorf("%s has no label %s in a scrape", m.Name, label)
				}
			}
		}
	}
	for name, of := range got {
		t.Errorf("%s is not in the table: %q", name, of)
	}
	for _, c := range figures.Kept {
		name := strings.TrimPrefix(c.Metric, figures.Prefix)
		if !strings.Contains(text, "\n# TYPE "+c.Metric+" counter\n") && !slices.Contains(figures.Rare, name) {
			t.Errorf("%s is kept from %s, which is not a counter in a scrape", c.Key, c.Metric)
		}
	}
}
