// Package monitoring makes the files for those who have Prometheus and Grafana from the
// table of figures: the reference of metrics, the alerts and their tests, and the dashboard.
// A test writes them to contrib with -update, and else compares them.
package monitoring

//go:generate go test -run ^TestFiles$ -update .

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spambloom/spambloom/reporting/figures"
)

// Files returns the content of each file, by its path below contrib.
func Files() (map[string]string, error) {
	dashboard, err := dashboard()
	return map[string]string{
		"metrics.md":                          reference(),
		"prometheus/spambloom.rules.yml":      rules(),
		"prometheus/spambloom.rules.test.yml": ruleTests(),
		"grafana/spambloom.json":              dashboard,
	}, err
}

// reference is the page with all metrics.
func reference() string {
	var b strings.Builder
	b.WriteString(`# Metrics

The daemon serves these metrics at ` + "`/metrics`" + ` of ` + "`[http] listen`" + `, beside those of Go and of the
process. Every series with known labels is there from the first scrape on. During a key change,
those of filters and exchange have the label ` + "`key`" + ` with the id of the federation key.

[grafana/spambloom.json](grafana/spambloom.json) is a dashboard, and
[prometheus/spambloom.rules.yml](prometheus/spambloom.rules.yml) has alerts. This page and both files
are made from the table in reporting/figures (` + "`make generate`" + `).
`)
	for _, part := range figures.Table {
		fmt.Fprintf(&b, "\n## %s\n\n| metric | type | labels | |\n|---|---|---|---|\n", part.Title)
		for _, m := range part.Metrics {
			labels := ""
			if len(m.Labels) > 0 {
				labels = "`" + strings.Join(m.Labels, "`, `") + "`"
			}
			fmt.Fprintf(&b, "| `%s%s` | %s | %s | %s |\n", figures.Prefix, m.Name, m.Type, labels, strings.ReplaceAll(m.Help, "|", "\\|"))
		}
	}
	b.WriteString(`
## What needs somebody

` + "`spambloom_needs`" + ` counts these things. The page, ` + "`spambloom status`" + ` and the member ` + "`overview`" + ` of
` + "`spambloom status --json`" + ` name each, with the command for it.

| kind | |
|---|---|
`)
	for _, n := range figures.Needs {
		fmt.Fprintf(&b, "| `%s` | %s |\n", n.Key, n.Words)
	}
	b.WriteString(`
## Kept by hour

These counters are kept for a year, through restarts (` + "`history`" + ` in the state folder). The page, ` + "`spambloom\nstatus`" + ` and the member ` + "`overview`" + ` of ` + "`spambloom status --json`" + ` show them by these keys.

| key | | from |
|---|---|---|
`)
	for _, c := range figures.Kept {
		fmt.Fprintf(&b, "| `%s` | %s | `%s` |\n", c.Key, c.Words, c.Selector())
	}
	return b.String()
}

// marshal writes JSON as people read it.
func marshal(v any) (string, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return string(data) + "\n", err
}
