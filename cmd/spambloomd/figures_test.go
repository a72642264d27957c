package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/cmd/internal/monitoring"
	"github.com/spambloom/spambloom/cmd/internal/trap"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/figures"
	"github.com/spambloom/spambloom/signature"
)

// scraped returns the metrics of a daemon that has everything: an exchange and a trap.
func scraped(t *testing.T) (*service, string) {
	d, _ := monitored(t)
	client, err := redisclient.Dial("redis://127.0.0.1:1/0", redisclient.Options{})
	testenv.Check(t, err)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	d.exchange = exchange.New(d.db, streams.New(client, d.db.Status().KeyID), exchange.Options{Log: d.log})
	d.spamd = d.newSpamd()
	d.traps = map[string]*trap.Trap{"lure": trap.New(trap.Options{Maildir: t.TempDir(), Log: d.log})}
	w := httptest.NewRecorder()
	d.newHTTP().Handler.ServeHTTP(w, monitorGet("/metrics"))
	return d, w.Body.String()
}

// Prometheus' own check finds no fault in the metrics, from the first scrape on.
func TestMetricsAreConventional(t *testing.T) {
	promtool := testenv.Program(t, "promtool")
	_, text := scraped(t)
	file := filepath.Join(t.TempDir(), "metrics")
	testenv.Check(t, os.WriteFile(file, []byte(text), 0o600))
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

// Prometheus itself scrapes the daemon and understands each query of the dashboard and of
// the alerts.
func TestQueriesInPrometheus(t *testing.T) {
	prometheus := testenv.Program(t, "prometheus")
	d, _ := scraped(t)
	testenv.Check(t, d.db.Report(signature.Compute(signature.Parse([]byte(harness.Message(harness.Text())))), bloomdb.ClassOther))
	daemon := httptest.NewServer(d.newHTTP().Handler)
	defer daemon.Close()
	dir := t.TempDir()
	address := fmt.Sprintf("127.0.0.1:%d", testenv.Port(t))
	config := harness.Write(t, filepath.Join(dir, "prometheus.yml"), fmt.Sprintf(
		"scrape_configs:\n- {job_name: spambloom, scrape_interval: 1s, static_configs: [{targets: ['%s']}]}\n", daemon.Listener.Addr()))
	cmd := exec.CommandContext(t.Context(), prometheus, "--config.file="+config, "--storage.tsdb.path="+dir, "--web.listen-address="+address, "--log.level=error")
	testenv.Check(t, cmd.Start())
	defer func() {
		if err := errors.Join(cmd.Process.Kill(), cmd.Wait()); err == nil {
			t.Error("Prometheus ended by itself")
		}
	}()
	ask := func(query string) (answer struct {
		Status, Error string
		Data          struct{ Result []any }
	}) {
		r, err := http.Get("http://" + address + "/api/v1/query?query=" + url.QueryEscape(query))
		if err != nil {
			return answer
		}
		defer r.Body.Close()
		if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
			answer.Error = err.Error()
		}
		return answer
	}
	testenv.Eventually(t, "Prometheus has scraped the daemon", func() bool { return len(ask("spambloom_messages_total").Data.Result) > 0 })
	for _, q := range monitoring.Queries() {
		if a := ask(q); a.Status != "success" {
			t.Errorf("%s: %s", q, a.Error)
		}
	}
	for _, q := range []string{`sum by (verdict) (spambloom_messages_total)`, "spambloom_db_error_per_mail_ratio", `max by (filter) (spambloom_db_filter_fill_ratio)`, "spambloom_site_state"} {
		if len(ask(q).Data.Result) == 0 {
			t.Errorf("%s has no result", q)
		}
	}
}
