package page_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/page/pagetest"
)

// user is an ordinary user, who may ask and report.
var user = desk.Origin{UID: 4_000_000, GID: 4_000_000, PID: 1, Known: true}

// visit is a browser without a window.
type visit struct {
	t      *testing.T
	site   *pagetest.Site
	cookie *http.Cookie
	from   string
}

func newVisit(t *testing.T, site *pagetest.Site) *visit {
	return &visit{t: t, site: site, from: "127.0.0.1:50000"}
}

// signedIn returns the visit of a user.
func signedIn(t *testing.T, site *pagetest.Site, name string, origin desk.Origin) *visit {
	t.Helper()
	v := newVisit(t, site)
	w := v.get(site.Link(name, origin))
	if w.Code != 200 || len(w.Result().Cookies()) != 1 {
		t.Fatalf("sign in: %d %s", w.Code, w.Body)
	}
	v.cookie = w.Result().Cookies()[0]
	return v
}

func (v *visit) do(r *http.Request) *httptest.ResponseRecorder {
	r.Host, r.RemoteAddr = "127.0.0.1:8898", v.from
	if v.cookie != nil {
		r.AddCookie(v.cookie)
	}
	w := httptest.NewRecorder()
	v.site.Handler.ServeHTTP(w, r)
	return w
}

func (v *visit) get(path string) *httptest.ResponseRecorder {
	return v.do(httptest.NewRequest("GET", path, nil))
}

var formToken = regexp.MustCompile(`name="form" value="([^"]+)"`)

// form returns the token of the session's forms.
func (v *visit) form() string {
	v.t.Helper()
	m := formToken.FindStringSubmatch(v.get("/explain").Body.String())
	if m == nil {
		v.t.Fatal("no form")
	}
	return m[1]
}

// act sends the form of an action on a message.
func (v *visit) act(fields url.Values, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/act", strings.NewReader(fields.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if change != nil {
		change(r)
	}
	return v.do(r)
}

// upload sends a message to be explained.
func (v *visit) upload(parts ...[2]string) *httptest.ResponseRecorder {
	v.t.Helper()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	for _, p := range parts {
		w, err := m.CreateFormField(p[0])
		if err == nil {
			_, err = io.WriteString(w, p[1])
		}
		if err != nil {
			v.t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		v.t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/explain", &body)
	r.Header.Set("Content-Type", m.FormDataContentType())
	return v.do(r)
}

func message(campaign int) string {
	set, err := json.Marshal(api.NewRequest(desktest.Letter(campaign, 0)))
	if err != nil {
		panic(err)
	}
	return string(set)
}

// A form that no page of the session sent changes nothing, whoever sends it.
func TestForgedActions(t *testing.T) {
	site := pagetest.New(t)
	root, other := signedIn(t, site, "root", pagetest.Root), signedIn(t, site, "root", pagetest.Root)
	good := url.Values{"form": {root.form()}, "do": {"report"}, "class": {"phish"}, "message": {message(1)}}
	without := func(field, value string) url.Values {
		f := url.Values{}
		for k, v := range good {
			f[k] = v
		}
		f.Set(field, value)
		return f
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, w := range map[string]*httptest.ResponseRecorder{
		"no session":          newVisit(t, site).act(good, nil),
		"no token":            root.act(without("form", ""), nil),
		"another's token":     root.act(without("form", other.form()), nil),
		"foreign origin":      root.act(good, header("Origin", "http://evil.example")),
		"origin null":         root.act(good, header("Origin", "null")),
		"other port":          root.act(good, header("Origin", "http://127.0.0.1:9999")),
		"cross-site":          root.act(good, header("Sec-Fetch-Site", "cross-site")),
		"same-site":           root.act(good, header("Sec-Fetch-Site", "same-site")),
		"another machine":     (&visit{t, site, root.cookie, "192.0.2.7:1"}).act(good, nil),
		"unknown action":      root.act(without("do", "format"), nil),
		"unknown class":       root.act(without("class", "boring"), nil),
		"no message":          root.act(without("message", ""), nil),
		"message of nonsense": root.act(without("message", `{"signatures":[{"kind":"text"}]}`), nil),
		"large":               root.act(without("message", strings.Repeat("x", 8<<20)), nil),
	} {
		if w.Code < 400 || w.Code >= 500 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if s, err := site.Ledger.Status(); err != nil || s.Reports != 0 {
		t.Errorf("the ledger has %d reports (%v)", s.Reports, err)
	}
	if w := root.act(good, header("Origin", "http://127.0.0.1:8898")); w.Code != 200 || !strings.Contains(w.Body.String(), "Reported.") {
		t.Errorf("the good form: %d %s", w.Code, w.Body)
	}
}

// Each action is carried out under the user's name, and with the user's rights.
func TestActions(t *testing.T) {
	site := pagetest.New(t)
	root, anna := signedIn(t, site, "root", pagetest.Root), signedIn(t, site, "uid:4000000", user)
	for _, c := range []struct {
		by   *visit
		do   string
		code int
		want string
	}{
		{anna, "report", 200, "It is not spam until others agree"},
		{root, "report", 200, "The verdict is now spam."},
		{anna, "never", 403, "only root and the daemon"},
		{anna, "settle", 403, "only root and the daemon"},
		{anna, "retouch", 403, "only root and the daemon"},
		{root, "retouch", 200, "The verdict is now clean."},
		{root, "never", 200, "The verdict is now"},
		{anna, "report", 409, "never-list"},
		{root, "revoke", 200, "Revoked."},
		{root, "settle", 200, "do not change it on this site. The verdict is now"},
	} {
		w := c.by.act(url.Values{"form": {c.by.form()}, "do": {c.do}, "class": {"other"}, "note": {"ours"}, "as": {"wanted"}, "message": {message(1)}}, nil)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d, want %d and %q:\n%s", c.do, w.Code, c.code, c.want, w.Body)
		}
	}
	trail, err := site.Trail(api.TrailRequest{}, desktest.Set())
	if err != nil || len(trail.Reports) != 4 || trail.Reports[3].Reporter != "uid:4000000" || trail.Reports[2].Reporter != "root" || trail.Reports[0].Origin != "unix:0" {
		t.Errorf("%+v (%v)", trail.Reports, err)
	}
}

// A link signs in once and for five minutes; a session ends by itself, and when its user
// leaves.
func TestSignIn(t *testing.T) {
	site := pagetest.New(t)
	link := site.Link("root", pagetest.Root)
	v := newVisit(t, site)
	w := v.get(link)
	c := w.Result().Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure || len(c.Value) < 20 {
		t.Errorf("cookie %+v", c)
	}
	if text := w.Body.String(); !strings.Contains(text, "You are signed in.") || !strings.Contains(text, "sign out") || strings.Contains(text, "read only") {
		t.Errorf("the page of the link shows another state than signed in:\n%s", text)
	}
	for name, path := range map[string]string{"used before": link, "made up": "/enter?key=x", "none": "/enter"} {
		if w := newVisit(t, site).get(path); w.Code != 403 || len(w.Result().Cookies()) != 0 {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
	isIn := func(v *visit) bool { return strings.Contains(v.get("/").Body.String(), "sign out") }
	if v.cookie = c; !isIn(v) {
		t.Error("not signed in")
	}
	if isIn(&visit{t, site, c, "192.0.2.7:1"}) {
		t.Error("the cookie is of use on another machine")
	}
	late := site.Link("root", pagetest.Root)
	site.Clock.Add(301)
	if w := newVisit(t, site).get(late); w.Code != 403 {
		t.Errorf("after five minutes: %d", w.Code)
	}
	site.Clock.Add(int64(2*time.Hour/time.Second) + 1)
	if isIn(v) {
		t.Error("signed in after two idle hours")
	}
	v = signedIn(t, site, "root", pagetest.Root)
	if w := v.do(httptest.NewRequest("POST", "/leave", nil)); w.Code != 403 || !isIn(v) {
		t.Errorf("a forged form signs out: %d", w.Code)
	}
	r := httptest.NewRequest("POST", "/leave", strings.NewReader(url.Values{"form": {v.form()}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if w := v.do(r); w.Code != 303 || isIn(v) {
		t.Errorf("sign out: %d", w.Code)
	}
	v = signedIn(t, site, "root", pagetest.Root)
	var first, last *visit
	for range 300 { // one too many ends the oldest of that user
		site.Clock.Add(1)
		last = signedIn(t, site, "uid:4000000", user)
		if first == nil {
			first = last
		}
	}
	if !isIn(v) || !isIn(last) || isIn(first) {
		t.Errorf("after 300 sessions of a user: the administrator's %v, the newest %v, the oldest %v", isIn(v), isIn(last), isIn(first))
	}
}

// A user who loses the right loses the page's actions at once.
func TestRightsAreThoseOfNow(t *testing.T) {
	site := pagetest.New(t)
	v := signedIn(t, site, "uid:4000000", user)
	if w := v.get("/reports"); w.Code != 200 {
		t.Errorf("before: %d", w.Code)
	}
	site.Restrict()
	if w := v.get("/reports"); w.Code != 403 || !strings.Contains(w.Body.String(), "may not use the control socket") {
		t.Errorf("after: %d %s", w.Code, w.Body)
	}
}

// Visitors see figures and no names; lists of people and questions about mail are for users.
func TestVisitors(t *testing.T) {
	site := pagetest.New(t).Busy()
	v := newVisit(t, site)
	for _, path := range []string{"/", "/campaigns", "/campaigns?q=carla", "/mail", "/sites", "/filters", "/explain"} {
		w := v.get(path)
		for _, name := range []string{"anna", "bert", "carla@", "trap:lure"} {
			if w.Code != 200 || strings.Contains(w.Body.String(), name) {
				t.Errorf("%s: %d, and %q is shown", path, w.Code, name)
			}
		}
	}
	if w := v.get("/campaigns?q=anna"); !strings.Contains(w.Body.String(), "0 campaigns") {
		t.Error("a visitor can search for a reporter")
	}
	for _, path := range []string{"/reports", "/reporters"} {
		if w := v.get(path); w.Code != 401 || !strings.Contains(w.Body.String(), "<h1>Sign in first</h1>") || !strings.Contains(w.Body.String(), "spambloom web") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if strings.Contains(v.get("/").Body.String(), "<input") {
		t.Error("a visitor is offered a form that does not work")
	}
	if w := v.upload([2]string{"form", ""}, [2]string{"message", "Subject: x\n\nx"}); w.Code != 401 {
		t.Errorf("a visitor's message: %d", w.Code)
	}
}

// A long address goes on in the next line where one reads it so, and an empty site says what to do
// instead of drawing nothing.
func TestNarrowAndEmpty(t *testing.T) {
	site := pagetest.New(t)
	v := signedIn(t, site, "root", pagetest.Root)
	want := func(path, text string) {
		t.Helper()
		if w := v.get(path); !strings.Contains(w.Body.String(), text) {
			t.Errorf("%s lacks %q:\n%s", path, text, w.Body)
		}
	}
	for _, span := range []string{"day", "year"} {
		want("/?range="+span, "No mail was counted within the last "+span+". <code>spambloom doctor</code>")
	}
	want("/", "No message is listed, so none can be called spam by mistake.")
	want("/nothing", "There is no such page.")
	site.MustReport("anna.<b>"+strings.Repeat("x", 40)+"@example.org", desktest.Letter(1, 0))
	for _, path := range []string{"/reports", "/reporters"} {
		want(path, ">anna.<wbr>&lt;b&gt;"+strings.Repeat("x", 15)+"<wbr>"+strings.Repeat("x", 18)+"<wbr>"+strings.Repeat("x", 7)+"@<wbr>example.<wbr>org<")
	}
}

// What is wrong with a request is refused, and no page ever names a foreign resource.
func TestBadRequests(t *testing.T) {
	site := pagetest.New(t).Small()
	v := signedIn(t, site, "root", pagetest.Root)
	form := [2]string{"form", v.form()}
	for name, c := range map[string]struct {
		w    *httptest.ResponseRecorder
		code int
	}{
		"wrong method":     {v.do(httptest.NewRequest("DELETE", "/campaigns", nil)), 405},
		"GET of an action": {v.get("/act"), 405},
		"no page":          {v.get("/nothing"), 404},
		"files":            {v.get("/assets/"), 404},
		"templates":        {v.get("/templates/layout.html"), 404},
		"path trick":       {v.get("/assets/..%2ftemplates%2flayout.html"), 404},
		"not a form":       {v.do(httptest.NewRequest("POST", "/explain", strings.NewReader("x"))), 400},
		"no token first":   {v.upload([2]string{"message", "Subject: x\n\nx"}, form), 403},
		"wrong token":      {v.upload([2]string{"form", "x"}, [2]string{"message", "Subject: x\n\nx"}), 403},
		"no message":       {v.upload(form), 400},
		"empty message":    {v.upload(form, [2]string{"message", " \n"}), 400},
		"giant":            {v.upload(form, [2]string{"message", strings.Repeat("x", 4<<20)}, [2]string{"source", "x"}), 413},
		"no such page":     {v.get("/campaigns?page=99999999999999999999&sort=%00&only=%FF"), 200},
		"odd range":        {v.get("/?range=%3Cscript%3E"), 200},
		"odd since":        {v.get("/reports?since=yesterday&before=-1&by=%E2%80%AE"), 200},
	} {
		if c.w.Code != c.code {
			t.Errorf("%s: %d, want %d\n%s", name, c.w.Code, c.code, c.w.Body)
		}
	}
}

// A name or an id that is hostile is shown as text.
func TestHostileTexts(t *testing.T) {
	site := pagetest.New(t)
	if _, err := site.Report(desk.Report{Set: desktest.Letter(1, 0), Reporter: `<script>alert(1)</script>"onx=`}); err != nil {
		t.Fatal(err)
	}
	site.SetFault("<b>\u202egnp.exe\u2066 " + strings.Repeat("long ", 500))
	hostile := `<script>alert(3)</script>` + "\u202e"
	site.Judge(pagetest.Now, hostile, hostile, desktest.Letter(2, 0))
	site.Spare(pagetest.Now, "4fXk2T0001z", hostile, desktest.Letter(1, 0))
	v := signedIn(t, site, "root", pagetest.Root)
	for _, path := range []string{"/", "/mail", "/mail?q=<script>alert(4)</script>", "/explain?ask=" + desktest.Letter(1, 0).Counting[0].ID(), "/campaigns", "/campaigns?q=<script>alert(2)</script>", "/reports", "/reporters", "/reporters?name=%3Cscript%3E", "/reports?by=%E2%80%AE", "/campaigns?q=%E2%80%AE"} {
		body := v.get(path).Body.String()
		for _, bad := range []string{"<script>alert", "\u202e", "\u2066", "<b>\u202e", strings.Repeat("long ", 80), `"onx=`} {
			if strings.Contains(body, bad) {
				t.Errorf("%s shows %q", path, bad)
			}
		}
	}
}

// Each answer forbids foreign and inline code, and names only this server.
func TestNothingForeign(t *testing.T) {
	site := pagetest.New(t).Busy()
	v := signedIn(t, site, "root", pagetest.Root)
	reference := regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	for name, path := range pages {
		w := v.get(path)
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %q", name, csp)
		}
		body := w.Body.String()
		for _, m := range reference.FindAllStringSubmatch(body, -1) {
			if !strings.HasPrefix(m[1], "/") && m[1] != "#main" || strings.HasPrefix(m[1], "//") {
				t.Errorf("%s refers to %q", name, m[1])
			}
		}
		for _, inline := range []string{" style=", " onclick", "javascript:", "<style", "<script>"} {
			if strings.Contains(body, inline) {
				t.Errorf("%s has %q", name, inline)
			}
		}
	}
	for _, path := range []string{"/assets/page.css", "/assets/page.js"} {
		if w := v.get(path); w.Code != 200 || strings.Contains(w.Body.String(), "http:") || strings.Contains(w.Body.String(), "https:") {
			t.Errorf("%s: %d, or it names another server", path, w.Code)
		}
	}
}

// A thousand open pages cost as much as one.
func TestManyOpenPages(t *testing.T) {
	site := pagetest.New(t).Busy()
	v := newVisit(t, site)
	for i := range 1000 {
		path := "/"
		if i%25 == 0 { // the other pages ask for it, too: they say what is wrong
			path = []string{"/sites", "/filters", "/campaigns", "/mail"}[i/25%4]
		}
		if w := v.get(path); w.Code != 200 {
			t.Fatal(w.Code)
		}
	}
	if n := site.Asked.Load(); n != 1 {
		t.Errorf("the status was made %d times", n)
	}
}

// An explanation names each part of a message, who reported it, and what can be done.
func TestExplanation(t *testing.T) {
	site := pagetest.New(t)
	site.MustReport("anna", desktest.Letter(1, 0))
	site.MustReport("bert", desktest.Letter(1, 0))
	v := signedIn(t, site, "root", pagetest.Root)
	w := v.upload([2]string{"form", v.form()}, [2]string{"message", ""}, [2]string{"source", "Subject: x\n\n" + desktest.LetterText(1, 0) + "\n"})
	for _, want := range []string{`<span class="tag">spam</span>`, "<b>reported, and not revoked</b>", "visible text", "mx1, period from", "anna", "bert", "Reports of it", "Report as spam", "Revoke", "Never spam", "Hide the match"} {
		if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d, no %q in\n%s", w.Code, want, w.Body)
		}
	}
	w = v.upload([2]string{"form", v.form()}, [2]string{"source", "Subject: ok\n\nok\n"})
	if w.Code != 200 || !strings.Contains(w.Body.String(), "too little content") {
		t.Errorf("%d\n%s", w.Code, w.Body)
	}
}

// A message is found by an id, by a header line that has one, and by its queue id; all copies
// are one row of the mail that was judged, unless each is asked for.
func TestLookup(t *testing.T) {
	site := pagetest.New(t)
	set := desktest.Letter(1, 0)
	id := set.Counting[0].ID()
	site.MustReport("anna", set)
	site.MustReport("bert", set)
	for i := range 3 {
		site.Judge(pagetest.Now.Add(-time.Duration(i)*time.Minute), fmt.Sprintf("4fXk2T000%dz", i), "spam", set)
	}
	site.Judge(pagetest.Now, "4fXk2T0009z", "clean", desktest.Letter(2, 0))
	v, anna := signedIn(t, site, "root", pagetest.Root), signedIn(t, site, "uid:4000000", user)
	for _, ask := range []string{id, "X-Spambloom: spam; kind=text; class=other; count=3; sites=1; site=mx1; id=" + id, " 4fXk2T0001z "} {
		w := v.get("/explain?ask=" + url.QueryEscape(ask))
		for _, want := range []string{"reported, and not revoked", "anna", "bert", "4fXk2T0001z"} {
			if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: %d, no %q", ask, w.Code, want)
			}
		}
		if w := anna.get("/explain?ask=" + url.QueryEscape(ask)); w.Code != 403 {
			t.Errorf("%s by a user: %d", ask, w.Code)
		}
	}
	for ask, code := range map[string]int{"text:0000000000000000": 200, "nothing like an id!": 400, "sketch:zzz": 400} {
		if w := v.get("/explain?ask=" + url.QueryEscape(ask)); w.Code != code {
			t.Errorf("%s: %d, want %d", ask, w.Code, code)
		}
	}
	for path, rows := range map[string]int{"/mail": 2, "/mail?each=1": 4, "/mail?only=spam": 1, "/mail?q=4fXk2T0001z&each=1": 1, "/mail?q=" + id: 1, "/mail?q=nothing": 0} {
		if got := strings.Count(v.get(path).Body.String(), "<time"); got != rows {
			t.Errorf("%s: %d rows, want %d", path, got, rows)
		}
	}
	if body := newVisit(t, site).get("/mail?q=4fXk2T0001z").Body.String(); strings.Contains(body, "<time") {
		t.Error("a visitor can search for a queue id")
	}
	site.MustRevoke("anna", set)
	w := v.act(url.Values{"form": {v.form()}, "do": {"revoke-id"}, "ask": {id}}, nil)
	if w.Code != 200 || !strings.Contains(w.Body.String(), "Revoked.") || site.DB.Judge(set).Listed {
		t.Errorf("revoke by id: %d\n%s", w.Code, w.Body)
	}
}

// TestHostileHeader is the attack "two million fields": a message that is all header takes a hundred times
// its size in memory. As at the milter, each line is charged.
func TestHostileHeader(t *testing.T) {
	site := pagetest.New(t)
	v := signedIn(t, site, "root", pagetest.Root)
	form := v.form()
	allocated := func(content string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if w := v.upload([2]string{"form", form}, [2]string{"message", content}); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Only the beginning") {
			t.Fatal(w.Code, w.Body)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	plain, hostile := allocated("Subject: x\n\n"+strings.Repeat("word ", 1<<18)), allocated(strings.Repeat("X: y\n", 1<<18))
	if hostile > 3*plain {
		t.Errorf("%d MiB for a header, %d for a body", hostile>>20, plain>>20)
	}
}
