package page_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/spambloom/spambloom/cmd/testenv/browser"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/page/pagetest"
)

const secret = "spambloom1-secret"

// withTokens returns an empty site that lets two clients in.
func withTokens(t *testing.T) *pagetest.Site {
	site := pagetest.New(t)
	site.Tokens = map[string]string{secret: "helpdesk", "spambloom1-other": "store1"}
	return site
}

// ask opens the form for a token and keeps its cookie.
func (v *visit) ask() (form string) {
	v.t.Helper()
	w := v.get("/sign-in")
	m := formToken.FindStringSubmatch(w.Body.String())
	if w.Code != 200 || m == nil || len(w.Result().Cookies()) != 1 {
		v.t.Fatalf("the form for a token: %d %s", w.Code, w.Body)
	}
	v.cookie = w.Result().Cookies()[0]
	return m[1]
}

// send sends the form for a token.
func (v *visit) send(form, token string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/sign-in", strings.NewReader(url.Values{"form": {form}, "token": {token}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if change != nil {
		change(r)
	}
	return v.do(r)
}

// A token of the control API signs its client in, with the rights that it has there, and its
// reports are in the ledger under the client's name. A token that is removed ends the session.
func TestSignInWithToken(t *testing.T) {
	site := withTokens(t)
	v := newVisit(t, site)
	if text := v.get("/").Body.String(); !strings.Contains(text, `<a href="/sign-in">sign in</a>`) {
		t.Errorf("no way to sign in:\n%s", text)
	}
	w := v.send(v.ask(), " "+secret+"\n", nil)
	if w.Code != 303 || w.Header().Get("Location") != "/" || len(w.Result().Cookies()) != 1 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	v.cookie = w.Result().Cookies()[0]
	if c := v.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || strings.Contains(c.Value, secret) {
		t.Errorf("cookie %+v", c)
	}
	if text := v.get("/").Body.String(); !strings.Contains(text, "helpdesk") || !strings.Contains(text, "sign out") {
		t.Errorf("not signed in:\n%s", text)
	}
	for what, code := range map[string]int{"report": 200, "never": 403, "retouch": 403, "settle": 403} {
		if w := v.act(url.Values{"form": {v.form()}, "do": {what}, "class": {"phish"}, "as": {"spam"}, "message": {message(1)}}, nil); w.Code != code {
			t.Errorf("%s: %d, want %d: %s", what, w.Code, code, w.Body)
		}
	}
	trail, err := site.Trail(api.TrailRequest{}, desktest.Set())
	if err != nil || len(trail.Reports) != 1 || trail.Reports[0].Reporter != "helpdesk" || trail.Reports[0].Origin != "tcp:helpdesk" {
		t.Errorf("%+v (%v)", trail.Reports, err)
	}
	delete(site.Tokens, secret)
	if text := v.get("/").Body.String(); strings.Contains(text, "sign out") {
		t.Error("signed in although the token is removed")
	}
	if w := v.get("/reports"); w.Code != 401 {
		t.Errorf("the list of reports without the token: %d", w.Code)
	}
}

// A wrong token, a form that no page of this browser sent, and a connection that others can read
// sign nobody in. No answer repeats a token.
func TestForgedSignIn(t *testing.T) {
	site := withTokens(t)
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, c := range map[string]struct {
		code        int
		form, token string
		change      func(*http.Request)
	}{
		"wrong token":     {403, "", "spambloom1-guess", nil},
		"no token":        {403, "", "", nil},
		"another form":    {403, "x", secret, nil},
		"no form":         {403, "-", secret, nil},
		"no cookie":       {403, "", secret, func(r *http.Request) { r.Header.Del("Cookie") }},
		"foreign origin":  {403, "", secret, header("Origin", "http://evil.example")},
		"cross-site":      {403, "", secret, header("Sec-Fetch-Site", "cross-site")},
		"in the address":  {403, "", "", func(r *http.Request) { r.URL.RawQuery = "token=" + secret }},
		"another machine": {403, "", secret, func(r *http.Request) { r.RemoteAddr = "192.0.2.7:1" }},
		"large":           {413, "", strings.Repeat("x", 8<<10), nil},
	} {
		v := newVisit(t, site)
		form := v.ask()
		if c.form != "" {
			form = strings.Trim(c.form, "-")
		}
		r := httptest.NewRequest("POST", "/sign-in", strings.NewReader(url.Values{"form": {form}, "token": {c.token}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Host, r.RemoteAddr = "127.0.0.1:8898", v.from
		r.AddCookie(v.cookie)
		if c.change != nil {
			c.change(r)
		}
		w := httptest.NewRecorder()
		site.Handler.ServeHTTP(w, r)
		if w.Code != c.code || strings.Contains(w.Body.String(), secret) || strings.Contains(w.Body.String(), "spambloom1-guess") {
			t.Errorf("%s: %d, want %d: %s", name, w.Code, c.code, w.Body)
		}
		for _, cookie := range w.Result().Cookies() {
			if cookie.Name == "spambloom" {
				t.Errorf("%s: signed in", name)
			}
		}
	}
	far := &visit{t: t, site: site, from: "192.0.2.7:1"}
	if w := far.get("/sign-in"); w.Code != 200 || strings.Contains(w.Body.String(), "<input") || !strings.Contains(w.Body.String(), "not encrypted") {
		t.Errorf("over a network in the clear: %d %s", w.Code, w.Body)
	}
	r := httptest.NewRequest("GET", "/sign-in", nil)
	r.Header.Set("X-Forwarded-Proto", "https")
	if w := far.do(r); !strings.Contains(w.Body.String(), `type="password"`) || len(w.Result().Cookies()) != 1 || !w.Result().Cookies()[0].Secure {
		t.Errorf("over TLS: %d %s", w.Code, w.Body)
	}
	site.Tokens = nil
	if w := newVisit(t, site).get("/sign-in"); strings.Contains(w.Body.String(), "<input") || !strings.Contains(w.Body.String(), "takes no tokens") {
		t.Errorf("without tokens: %d %s", w.Code, w.Body)
	}
}

// A link that a client asked for is of use, and its session goes on, while the client is let in.
func TestLinkOfClientEnds(t *testing.T) {
	site, isLetIn := pagetest.New(t), true
	link := func() string {
		return site.Link("store1", desk.Origin{Client: "store1", Holds: func() bool { return isLetIn }})
	}
	v, late := newVisit(t, site), link()
	v.cookie = v.get(link()).Result().Cookies()[0]
	isIn := func() bool { return strings.Contains(v.get("/").Body.String(), "sign out") }
	if !isIn() {
		t.Error("a client is not signed in by its link")
	}
	isLetIn = false
	if w := newVisit(t, site).get(late); isIn() || w.Code != 403 || len(w.Result().Cookies()) != 0 {
		t.Errorf("a client that was removed: signed in: %v, by a link: %d", isIn(), w.Code)
	}
}

// In a browser, the form signs in with the script and without.
func TestSignInWithTokenInABrowser(t *testing.T) {
	for name, hasScript := range map[string]bool{"script": true, "no script": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := withTokens(t)
			s := httptest.NewServer(site.Handler)
			defer s.Close()
			tab := newTab(t)
			withScript(t, tab, hasScript)
			do(t, tab, chromedp.Navigate(s.URL), browser.Click("header .who a"), browser.Shows("input[type=password]"))
			if hasScript {
				if wrong := append(ask(t, tab, chromedp.Evaluate[[]string](barriers, chromedp.EvalAwaitPromise)), offered(t, tab)...); len(wrong) > 0 {
					t.Errorf("the form: %q", wrong)
				}
			}
			do(t, tab, chromedp.SendKeys(chromedp.CSS("input[type=password]"), secret), browser.Click("main button"), browser.Shows(".state"))
			if got := inPage(t, tab, "header"); !strings.Contains(got, "helpdesk") {
				t.Errorf("signed in as %q", got)
			}
			if got := ask(t, tab, chromedp.Evaluate[string]("location.href")); strings.Contains(got, secret) {
				t.Errorf("the address is %s", got)
			}
		})
	}
}
