// Package page is the site's page for people: is it working, what did it do for us, and why
// this mail? Administrators look at it in a browser, at the HTTP listener of the daemon.
//
//	GET  /            today: one sentence, what needs somebody, figures, bars, newest listings
//	GET  /sites ...   lists; search, grouping and pages are in the URL
//	POST /explain     a message is signed by the daemon, and never stored
//	POST /act         report, revoke, never, retouch
//	GET  /enter       a link of `spambloom web` signs its user in
//	POST /sign-in     a token of the control API signs its client in
//
// Visitors see figures and lists without the names of reporters. Users who are signed in see
// and do what the control API grants them on the unix socket, and clients with a token what it
// grants them over TLS: the page asks that API, in this process, in their names. So every action
// is checked, bounded, logged and entered in the ledger as if it came from the terminal.
//
// All pages are HTML of this server and need no script; the script refreshes figures, every ten
// seconds while the page is visible. They are not pushed (server-sent events): each open page
// would keep one of the few connections that the listener allows, and the figures are counted
// every ten seconds anyway. There are no external resources, and the policy allows none. Text from outside (ids, names,
// subjects of errors) is escaped, cut, and stripped of characters that change the direction.
//
// The package does not know the configuration, the milter or the database: Options has what
// it shows. It checks no Host; the listener does. It is safe for concurrent use. Its locks
// are Sessions.mu and that of uploads, each held alone for a look into a table, Page.searching, and
// cache.mu: those of Page.visitors and Page.courses are taken before those of status and campaigns.
package page

import (
	"bytes"
	"embed"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/figures"
	"github.com/spambloom/spambloom/reporting/history"
	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/reporting/overview"
	"github.com/spambloom/spambloom/reporting/page/chart"
	"github.com/spambloom/spambloom/reporting/page/uploads"
	"github.com/spambloom/spambloom/signature"
)

// Options of a Page. All functions are required but Alias and those for tokens.
type Options struct {
	Site    string
	Version string

	Status    func() (api.Status, error) // with the overview
	Sites     func() []api.Site
	Hours     func(from, to time.Time) []history.Hour
	Campaigns func() ([]desk.Campaign, error)
	Courses   func([]desk.Campaign, []time.Time) ([]desk.Course, time.Time)      // of their mail between these times
	Judged    func(limit int, match func(*judged.Message) bool) []judged.Message // the latest first

	Control  http.Handler // the control API
	Sessions *Sessions

	// SignIn returns the client with a token of the control API, and whether the token still is
	// let in later. HasTokens reports whether there is any. Both may be nil: there are no tokens.
	SignIn    func(token string, from net.Addr) (client string, holds func() bool, err error)
	HasTokens func() bool

	// Alias returns a pseudonym of a sender's domain, where the log has one, else the domain; nil:
	// the domain.
	Alias func(domain string) string

	Sign       func(signature.Message) signature.Set
	MaxMessage func() int64 // bytes; of a longer message only the beginning is signed

	Now func() time.Time
	Log *slog.Logger // nil: discard
}

// Page serves the page.
type Page struct {
	Options
	uploads   uploads.Places
	searching sync.Mutex // one search through the judged mail at a time
	status    cache[api.Status]
	campaigns cache[[]desk.Campaign]
	courses   map[string]*cache[courses] // campaigns with their mail, by the name of a span
	visitors  map[string]*cache[[]byte]  // the first screen as visitors see it, by the name of its span
}

const (
	freshFor  = 2 * time.Second
	listedFor = 10 * time.Second
)

//go:embed assets/* templates/*
var files embed.FS

// New returns the handler of the page.
func New(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Alias == nil {
		o.Alias = func(domain string) string { return domain }
	}
	p := &Page{Options: o}
	p.status = cache[api.Status]{life: freshFor, now: o.Now, get: o.Status}
	p.campaigns = cache[[]desk.Campaign]{life: listedFor, now: o.Now, get: o.Campaigns}
	p.courses = make(map[string]*cache[courses])
	for _, s := range campaignSpans() {
		p.courses[s.Name] = &cache[courses]{life: listedFor, now: o.Now, get: func() (courses, error) { return p.coursesOf(s) }}
	}
	p.visitors = make(map[string]*cache[[]byte])
	for _, s := range chart.Spans {
		p.visitors[s.Name] = &cache[[]byte]{life: freshFor, now: o.Now, get: func() ([]byte, error) { return p.visitorsToday(s) }}
	}
	mux := http.NewServeMux()
	for _, name := range []string{"assets/page.css", "assets/page.js"} { // no others, whatever the path is
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, name) })
	}
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		p.fail(w, r, http.StatusNotFound, "There is no such page")
	})
	for _, path := range []string{"/act", "/leave"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", http.MethodPost)
			p.fail(w, r, http.StatusMethodNotAllowed, "Only a button of a page leads here")
		})
	}
	mux.HandleFunc("GET /{$}", p.today)
	mux.HandleFunc("GET /mail", p.mailList)
	mux.HandleFunc("GET /campaigns", p.campaignList)
	mux.HandleFunc("GET /reports", p.reportList)
	mux.HandleFunc("GET /reporters", p.reporterList)
	mux.HandleFunc("GET /sites", p.siteList)
	mux.HandleFunc("GET /filters", p.filterList)
	mux.HandleFunc("GET /explain", p.explainForm)
	mux.HandleFunc("POST /explain", p.explain)
	mux.HandleFunc("POST /act", p.act)
	mux.HandleFunc("GET /enter", p.enter)
	mux.HandleFunc("POST /leave", p.leave)
	mux.HandleFunc("GET "+signInPath, p.signInForm)
	mux.HandleFunc("POST "+signInPath, p.signIn)
	return secured(mux)
}

// secured sets the headers of every answer.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// view is what every page shows around its content.
type view struct {
	Site, Version, Title string
	Path                 string
	Query                url.Values
	Nav                  []link
	User                 string // who is signed in; empty: nobody
	Form                 string // token of the session's forms
	Now                  time.Time
	IsUnknown            bool // the state of the daemon cannot be read
	Data                 any

	may      map[string]bool
	overview *overview.Overview // nil: the page is the first screen, or the state cannot be read
}

type link struct {
	Path, Words string
	IsHere      bool
}

var nav = []link{
	{Path: "/", Words: "Today"}, {Path: "/explain", Words: "Why this mail?"}, {Path: "/mail", Words: "Mail"}, {Path: "/campaigns", Words: "Campaigns"},
	{Path: "/reports", Words: "Reports"}, {Path: "/reporters", Words: "Reporters"}, {Path: "/sites", Words: "Sites"}, {Path: "/filters", Words: "Filters"},
}

// frame returns the view of a page for visitors.
func (p *Page) frame(u *url.URL, title string, data any) *view {
	v := &view{Site: p.Site, Version: p.Version, Title: title, Path: u.Path, Query: u.Query(), Now: p.Now(), Data: data}
	if s, err := p.status.ask(); u.Path == "/" || err != nil {
		v.IsUnknown = u.Path != "/"
	} else {
		v.overview = s.Overview
	}
	for _, l := range nav {
		l.IsHere = l.Path == u.Path
		v.Nav = append(v.Nav, l)
	}
	return v
}

// view returns the view of a page for the sender of a request.
func (p *Page) view(r *http.Request, title string, data any) *view {
	v := p.frame(r.URL, title, data)
	if s := p.Sessions.of(r); s != nil {
		v.User, v.Form = s.name, s.form
		v.may = p.rights(r, s)
	}
	return v
}

// Alarm is what every page but the first says while somebody is needed; nil: nobody is.
func (v *view) Alarm() *overview.Overview {
	if v.overview == nil || len(v.overview.Needs) == 0 {
		return nil
	}
	alarm := *v.overview
	if !v.May("administrate") {
		alarm.Sentence = strings.Replace(alarm.Sentence, " you.", " an administrator.", 1)
	}
	return &alarm
}

// Here lists what needs somebody and belongs on this page.
func (v *view) Here() (list []overview.Need) {
	if v.overview != nil {
		for _, n := range v.overview.Needs {
			if n.Page == v.Path && n.Kind != figures.NeedSites { // the list of sites has those
				list = append(list, n)
			}
		}
	}
	return list
}

// May reports whether the user has a right: ask, report or administrate.
func (v *view) May(right string) bool { return v.may[right] }

// templates are parsed at the first page, not at the start of a program.
var templates = sync.OnceValue(func() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Funcs(words).ParseFS(files, "templates/layout.html", "templates/parts.html"))
	list := make(map[string]*template.Template)
	for _, name := range []string{"today", "mail", "campaigns", "reports", "reporters", "sites", "filters", "explain", "sign-in", "done", "problem"} {
		list[name] = template.Must(template.Must(layout.Clone()).ParseFS(files, "templates/"+name+".html"))
	}
	return list
})

// render returns the HTML of a page.
func render(name string, v *view) ([]byte, error) {
	var b bytes.Buffer
	err := templates()[name].Execute(&b, v)
	return b.Bytes(), err
}

// show renders a page and sends it. A page that cannot be rendered is an error for the log.
func (p *Page) show(w http.ResponseWriter, status int, name string, v *view) {
	html, err := render(name, v)
	if err != nil {
		p.Log.Error("page", "name", name, "error", err)
		http.Error(w, "this page cannot be shown; see the daemon's log", http.StatusInternalServerError)
		return
	}
	p.send(w, status, html)
}

func (p *Page) send(w http.ResponseWriter, status int, html []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(html) // the browser may have gone
}

// fail shows a problem: one sentence, and a way on.
func (p *Page) fail(w http.ResponseWriter, r *http.Request, status int, text string) {
	title := "That did not work"
	if status == http.StatusUnauthorized {
		title = "Sign in first"
	}
	p.show(w, status, "problem", p.view(r, title, sentence(text)))
}
