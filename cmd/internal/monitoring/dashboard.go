package monitoring

// panel is one panel of the dashboard.
type panel struct {
	title, kind, unit string
	width             int // of 24
	queries           []query
}

type query struct{ expr, legend string }

var panels = []panel{
	{"Mail judged, 24 h", "stat", "short", 6, []query{{`sum(increase(spambloom_messages_total{verdict=~"clean|bulk|spam"}[24h]))`, "judged"}}},
	{"Spam, 24 h", "stat", "short", 6, []query{{`sum(increase(spambloom_messages_total{verdict="spam"}[24h]))`, "spam"}}},
	{"Only because of other sites, 24 h", "stat", "short", 6, []query{{`sum(increase(spambloom_spam_total{source="others"}[24h]))`, "spam"}}},
	{"Not judged, 24 h", "stat", "short", 6, []query{{`sum(increase(spambloom_messages_total{verdict=~"allowed|skipped|failed"}[24h]))`, "not judged"}}},
	{"What needs somebody", "table", "none", 24, []query{{`sum by (kind) (spambloom_needs) > 0`, ""}}},
	{"Mail by verdict", "timeseries", "reqps", 12, []query{{`sum by (verdict) (rate(spambloom_messages_total[5m]))`, "{{verdict}}"}}},
	{"Spam by who reported it", "timeseries", "reqps", 12, []query{{`sum by (source) (rate(spambloom_spam_total[5m]))`, "{{source}}"}}},
	{"Time to the answer", "timeseries", "s", 12, []query{
		{`histogram_quantile(0.5, sum by (le) (rate(spambloom_judging_seconds_bucket[5m])))`, "half"},
		{`histogram_quantile(0.99, sum by (le) (rate(spambloom_judging_seconds_bucket[5m])))`, "99 %"}}},
	{"Failures", "timeseries", "reqps", 12, []query{{`sum by (cause) (rate(spambloom_milter_failures_total[5m]))`, "{{cause}}"}}},
	{"Reports", "timeseries", "short", 12, []query{
		{`sum by (action) (increase(spambloom_reports_total[1h]))`, "{{action}}"}, {`sum(increase(spambloom_reports_refused_total[1h]))`, "refused"}}},
	{"Decisions for other sites", "timeseries", "short", 12, []query{{`sum by (action) (increase(spambloom_decisions_total[1h]))`, "{{action}}"}}},
	{"Mistakes: chance for an unreported mail", "timeseries", "none", 12, []query{{`spambloom_db_error_per_mail_ratio`, "estimate"}}},
	{"Fill of filters", "timeseries", "percentunit", 12, []query{{`max by (filter) (spambloom_db_filter_fill_ratio)`, "{{filter}}"}}},
	{"Memory", "timeseries", "bytes", 12, []query{{`spambloom_db_memory_bytes`, "filters"}, {`spambloom_milter_memory_bytes`, "mail in flight"}, {`process_resident_memory_bytes{job="spambloom"}`, "process"}}},
	{"Sites", "table", "none", 12, []query{{`spambloom_site_state`, ""}}},
}

// dashboard is the dashboard for Grafana.
func dashboard() (string, error) {
	type object = map[string]any
	source := object{"type": "prometheus", "uid": "${source}"}
	var list []object
	x, y := 0, 0
	for i, p := range panels {
		height := 8
		if p.kind == "stat" {
			height = 4
		}
		if x+p.width > 24 {
			x = 0
			y += 8
		}
		var targets []object
		for j, q := range p.queries {
			targets = append(targets, object{"refId": string(rune('A' + j)), "expr": q.expr, "legendFormat": q.legend, "instant": p.kind != "timeseries", "datasource": source})
		}
		list = append(list, object{
			"id": i + 1, "title": p.title, "type": p.kind, "datasource": source, "targets": targets,
			"gridPos":     object{"x": x, "y": y, "w": p.width, "h": height},
			"fieldConfig": object{"defaults": object{"unit": p.unit}, "overrides": []object{}},
		})
		x += p.width
	}
	return marshal(object{
		"title": "spambloom", "uid": "spambloom", "schemaVersion": 39, "version": 1, "refresh": "30s", "tags": []string{"mail"},
		"time":       object{"from": "now-24h", "to": "now"},
		"templating": object{"list": []object{{"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"}}},
		"panels":     list,
	})
}

// Queries returns all queries of the dashboard and the alerts.
func Queries() (list []string) {
	for _, p := range panels {
		for _, q := range p.queries {
			list = append(list, q.expr)
		}
	}
	for _, a := range alerts {
		list = append(list, a.expr)
	}
	return list
}
