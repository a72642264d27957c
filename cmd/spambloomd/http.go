package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/cmd/internal/trap"
	"github.com/spambloom/spambloom/cmd/spambloomd/scrape"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/overview"
	"github.com/spambloom/spambloom/reporting/watch"
)

// maxHTTP bounds the open connections of the HTTP listener; another one closes one, see package newest.
// Each uses a file descriptor, which the mail server's connections need.
const maxHTTP = 64

// newHTTP returns the server for monitoring:
//
//	/metrics   Prometheus
//	/healthz   200 while the process answers at all
//	/readyz    200 while it serves, mail is judged, and reports are accepted and written; otherwise
//	           503 and the reason. With 200, a line for each damaged file, each lockout, a clock
//	           that jumped, a configuration that is not in use, a trap that is not read, what is
//	           full, contested messages, a day without mail, and each reason why other sites
//	           are not heard
//	/          the page for people, see package page
//
// It answers only for its own names.
func (d *service) newHTTP() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", scrape.Handler(d.registry(), d.log))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", d.readyz)
	mux.Handle("/", d.newPage())
	for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
		mux.HandleFunc(path, onlyGet)
	}
	return &http.Server{
		Handler:           onlyFor(d.started.HTTPNames(), mux),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       10 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
	}
}

// onlyGet refuses other methods.
func onlyGet(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", "GET, HEAD")
	http.Error(w, r.URL.Path+" takes GET", http.StatusMethodNotAllowed)
}

// registry contains the metrics of all parts and of the process.
func (d *service) registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.MustRegister(d.milter.Collectors()...)
	r.MustRegister(d.desk.Collectors()...)
	r.MustRegister(d.door.Collectors()...)
	if d.spamd != nil {
		r.MustRegister(d.spamd.Collectors()...)
	}
	if d.remote != nil {
		r.MustRegister(d.remote.Collectors()...)
	}
	r.MustRegister(siteCollector{func() []api.Site { return d.desk.Sites(d.links()) }})
	r.MustRegister(trapCollector{d.trapStatus}, d.historyFault())
	r.MustRegister(needsCollector{func() []overview.Need {
		needs, _ := d.lately.ask(d)
		return needs
	}})
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
		fmt.Fprintln(w, overview.Line(note))
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
	if d.exchange != nil {
		fault, sites := d.siteNotes()
		if fault != "" && !d.isConnecting(d.exchanged()) {
			notes = append(notes, "exchange: Redis: "+fault)
		}
		for _, note := range sites {
			notes = append(notes, "exchange: "+note)
		}
	}
	for _, need := range watch.SiteNeeds(d.desk.Sites(d.links()), d.begun, d.db.Now()) {
		notes = append(notes, "exchange: "+need.Text)
	}
	if fault := d.reloadFault.Load(); fault != nil {
		notes = append(notes, "configuration: the file is not in use: "+*fault)
	}
	for name, t := range d.trapStatus() {
		if t.Fault != "" {
			notes = append(notes, fmt.Sprintf("trap %s: %s", name, t.Fault))
		}
	}
	for _, f := range d.db.DamagedFiles() {
		notes = append(notes, fmt.Sprintf("damaged: %s is not used; missing: %s", f.Name, f.Cost))
	}
	if fault := d.db.Unsaved(); fault != nil {
		notes = append(notes, "snapshots of the filters cannot be written: "+fault.Error())
	}
	if fault := d.history.Fault(); fault != nil {
		notes = append(notes, "history: counts by hour are not kept: "+fault.Error())
	}
	for _, name := range d.history.Damaged() {
		notes = append(notes, "damaged: history/"+name+" is not used; missing: counts of that month")
	}
	_, inUse := d.lately.ask(d)
	for _, need := range inUse {
		notes = append(notes, "in use: "+need.Text)
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
