package main

import (
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/cmd/internal/trap"
	"github.com/spambloom/spambloom/cmd/internal/version"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/reporting/api"
)

// maxHTTP bounds the open connections of the HTTP listener; another one closes the oldest.
// Each uses a file descriptor, which the mail server's connections need.
const maxHTTP = 64

// newHTTP returns the server for monitoring:
//
//	/metrics   Prometheus
//	/healthz   200 while the process answers at all
//	/readyz    200 while it serves, mail is judged, and reports are accepted and written; otherwise
//	           503 and the reason. With 200, a line for each damaged file, each lockout, and a
//	           clock that jumped
//	/          a page for administrators
//
// It answers only for its own names.
func (d *service) newHTTP() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(d.registry(), promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelWarn)}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", d.readyz)
	mux.HandleFunc("GET /{$}", d.statusPage())
	return &http.Server{
		Handler:           onlyFor(d.started.httpNames(), mux),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       10 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
	}
}

// registry contains the metrics of all parts and of the process.
func (d *service) registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.MustRegister(d.milter.Collectors()...)
	r.MustRegister(d.desk.Collectors()...)
	r.MustRegister(d.door.Collectors()...)
	if d.remote != nil {
		r.MustRegister(d.remote.Collectors()...)
	}
	r.MustRegister(siteCollector{func() []api.Site { return d.desk.Sites(d.links()) }})
	r.MustRegister(trapCollector{d.trapStatus})
	d.registerDatabases(r)
	return r
}

func (d *service) readyz(w http.ResponseWriter, _ *http.Request) {
	if !d.serving.Load() {
		http.Error(w, "not serving", http.StatusServiceUnavailable)
		return
	}
	if fault := d.desk.Fault(); fault != nil {
		http.Error(w, "reports cannot be written: "+fault.Error(), http.StatusServiceUnavailable)
		return
	}
	if fault := d.milter.Fault(); fault != nil {
		http.Error(w, "mail is not judged: "+fault.Error(), http.StatusServiceUnavailable)
		return
	}
	lockout, all := d.door.Lockout()
	if all {
		http.Error(w, lockout, http.StatusServiceUnavailable)
		return
	}
	// One user's lockout must not take the daemon out of service, or any user could.
	fmt.Fprintln(w, "ready")
	for _, note := range d.notes(lockout) {
		fmt.Fprintln(w, note)
	}
}

// notes returns notices for administrators about a daemon that is ready.
func (d *service) notes(lockout string) (notes []string) {
	if c := d.db.Clock(); c != nil {
		notes = append(notes, fmt.Sprintf("clock: off by %s since %s, and not trusted",
			time.Duration(c.Ahead*float64(time.Second)).Round(time.Second), c.Since.Format(time.RFC3339)))
		if c.Expires {
			notes = append(notes, fmt.Sprintf("clock: reports made before it is trusted, at %s, expire then", c.Believed.Format(time.RFC3339)))
		}
	}
	for _, f := range d.db.DamagedFiles() {
		notes = append(notes, fmt.Sprintf("damaged: %s is not used; missing: %s", f.Name, f.Cost))
	}
	if lockout != "" {
		notes = append(notes, lockout)
	}
	if d.remote != nil {
		if lockout, _ := d.remote.Lockout(); lockout != "" {
			notes = append(notes, lockout)
		}
	}
	return notes
}

// facts is the daemon's addition to the database's status.
type facts struct {
	Milter   []string         `json:"milter"` // names of its listeners
	Load     milter.Load      `json:"load"`
	Fault    string           `json:"fault,omitempty"` // why mail is not judged
	Exchange *exchange.Status `json:"exchange,omitempty"`
	Previous *exchange.Status `json:"previous_exchange,omitempty"` // for the previous federation key

	Traps map[string]trap.Status `json:"traps,omitempty"` // by name
}

func (d *service) facts() facts {
	f := facts{Milter: d.listeners, Load: d.milter.Load(), Traps: d.trapStatus()}
	if fault := d.milter.Fault(); fault != nil {
		f.Fault = fault.Error()
	}
	if d.exchange != nil {
		status := d.exchange.Status()
		f.Exchange = &status
	}
	if d.previous != nil {
		status := d.previous.Status()
		f.Previous = &status
	}
	return f
}

// pageFacts is the data for the page.
type pageFacts struct {
	Version string
	DB      bloomdb.Status
	Sites   []api.Site
	facts
}

// statusPage shows the output of `spambloom status` and `spambloom sites`.
func (d *service) statusPage() http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		err := page.Execute(w, pageFacts{version.Text("spambloomd"), d.db.Status(), d.desk.Sites(d.links()), d.facts()})
		if err != nil {
			d.log.Debug("status page", "error", err)
		}
	}
}

var page = template.Must(template.New("status").Funcs(template.FuncMap{
	"mib":     func(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) },
	"percent": func(x float64) string { return fmt.Sprintf("%.4g %%", 100*x) },
	"rate":    func(x float64) string { return fmt.Sprintf("%.2g", x) },
	"second":  func(t *time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") },
	"sum": func(counts map[string]int64) (n int64) {
		for _, c := range counts {
			n += c
		}
		return n
	},
	"day": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") },
}).Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>spambloom on {{.DB.Site}}</title>
<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem;max-width:60rem}
table{border-collapse:collapse;margin:.5rem 0 1.5rem}td,th{padding:.15rem 1rem .15rem 0;text-align:left}
th{border-bottom:1px solid #999;font-weight:600}td.n,th.n{text-align:right}.fault{color:#a00}</style>
<h1>spambloom on {{.DB.Site}}</h1>
<p>{{.Version}}. Federation {{.DB.KeyID}}. Filters use {{mib .DB.Memory}} of memory, the journal {{mib .DB.Journal}} of disk.
An unreported message is judged spam with probability {{rate .DB.ErrorPerMail}}.</p>
{{with .DB.Previous}}<p>The federation key is being rolled over. Data of the previous key,
{{.KeyID}}, is still used, and its sites are still followed. It can be removed from {{day $.DB.PreviousUntil}} on.</p>{{end}}
{{with .DB.Error}}<p class="fault">Reports cannot be written: {{.}}</p>{{end}}
{{range .DB.Damaged}}<p class="fault">Damaged and not used: {{.Name}}. Missing: {{.Cost}}.</p>{{end}}
{{with .Fault}}<p class="fault">Mail is not judged: {{.}}</p>{{end}}
<p>{{with .Load}}{{.Connections}} connections of mail servers; {{.Judging}} messages being judged, {{.Waiting}} waiting.
Messages in flight use {{mib .Memory}} of memory, and {{mib .Spilled}} in temporary files.{{end}}</p>
<h2>Filters</h2>
<table><tr><th>filter<th>since<th class="n">fill<th class="n">error per key<th class="n">memory</tr>
{{range .DB.Filters}}<tr><td>{{.Kind}}<td>{{day .Start}}<td class="n">{{percent .Fill}}<td class="n">{{rate .Error}}<td class="n">{{mib .Memory}}</tr>
{{end}}</table>
<h2>Sites</h2>
{{with .Exchange}}<p>{{if .Connected}}Connected to Redis.{{else}}<span class="fault">Not connected to Redis.</span>{{end}}
{{if .LastError}}Last fault, {{second .LastErrorAt}}{{if .Connected}} (over){{end}}: {{.LastError}}{{end}}</p>{{end}}
<table><tr><th>site<th>state<th>trust<th>last news<th class="n">lag<th class="n">bits and cells<th class="n">memory<th class="n">share of errors<th class="n">gaps<th class="n">refused</tr>
{{range .Sites}}<tr><td>{{.Site}}<td>{{.State}}<td>{{.Trust}}{{if .Link}}<td>{{with .Heard}}{{second .}}{{else}}never{{end}}<td class="n">{{.Lag}}{{else}}<td><td>{{end}}<td class="n">{{.Cells}}<td class="n">{{mib .Memory}}<td class="n">{{percent .ErrorShare}}{{if .Link}}<td class="n">{{.Gaps}}<td class="n">{{sum .Refused}}{{else}}<td><td>{{end}}</tr>
{{end}}</table>
<p><a href="/metrics">metrics</a> <a href="/healthz">healthz</a> <a href="/readyz">readyz</a></p>
</html>
`))
