package page

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// The form for a token has a token of its own, which its page leaves in a cookie: nobody is signed
// in yet, and a foreign page must not sign somebody in as somebody else.
const (
	signInPath   = "/sign-in"
	signInCookie = "spambloom-sign-in"
	signInLife   = 15 * time.Minute
	maxSignIn    = 4 << 10 // bytes of the form
)

// signInData is the page for a token. One of Problem, Why and Form is set, or Problem and Form.
type signInData struct {
	Form    string // token of the form; empty: no token is taken
	Why     string // no token is taken
	Problem string // with the token that was sent
}

// signInForm asks for a token of the control API.
func (p *Page) signInForm(w http.ResponseWriter, r *http.Request) {
	p.showSignIn(w, r, http.StatusOK, "")
}

func (p *Page) showSignIn(w http.ResponseWriter, r *http.Request, status int, problem string) {
	d := signInData{Why: p.whyNoToken(r), Problem: problem}
	if d.Why == "" {
		d.Form = rand.Text()
		http.SetCookie(w, cookieOf(r, signInCookie, d.Form, signInPath, signInLife))
	}
	p.show(w, status, "sign-in", p.view(r, "Sign in", d))
}

// whyNoToken returns why no token is taken; empty: it is. A token is good for months, so it
// must not cross a network in the clear.
func (p *Page) whyNoToken(r *http.Request) string {
	switch from, err := netip.ParseAddr(addressOf(r)); {
	case p.HasTokens == nil || !p.HasTokens():
		return "This daemon takes no tokens: [control] remote_tokens names no file of them."
	case !isTLS(r) && (err != nil || !from.Unmap().IsLoopback()):
		return "This connection is not encrypted, so no token is taken. Use https through a proxy, or a tunnel of ssh."
	}
	return ""
}

// signIn signs in the client of a token. Its session has the rights of the token.
func (p *Page) signIn(w http.ResponseWriter, r *http.Request) {
	if why := p.whyNoToken(r); why != "" {
		p.fail(w, r, http.StatusForbidden, why)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxSignIn)
	if err := r.ParseForm(); err != nil {
		status, _ := statusOf(uploadProblem(err))
		p.showSignIn(w, r, status, "The form cannot be read, or is too large.")
		return
	}
	form, err := r.Cookie(signInCookie)
	if err != nil || !isOwn(r) || subtle.ConstantTimeCompare([]byte(form.Value), []byte(r.PostForm.Get("form"))) != 1 {
		p.showSignIn(w, r, http.StatusForbidden, "This form is too old, or another site sent it. Try again.")
		return
	}
	client, holds, err := p.SignIn(strings.TrimSpace(r.PostForm.Get("token")), remoteAddr(r.RemoteAddr))
	if err != nil {
		w.Header().Set("Connection", "close")
		status, text := statusOf(err)
		p.showSignIn(w, r, status, sentence(text))
		return
	}
	p.Sessions.leave(r)
	http.SetCookie(w, p.Sessions.begin(client, holds, r))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// remoteAddr is the address of a browser.
type remoteAddr string

func (remoteAddr) Network() string  { return "tcp" }
func (a remoteAddr) String() string { return string(a) }

// enter signs in the user of a link. The link is used up, so the browser's history and a
// copied address are of no use to anybody.
func (p *Page) enter(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead || strings.HasPrefix(r.Header.Get("Sec-Purpose"), "prefetch") {
		w.WriteHeader(http.StatusNoContent) // a program looked, not the user: the link stays good
		return
	}
	cookie, ok := p.Sessions.enter(r.URL.Query().Get("key"), r)
	if !ok {
		p.fail(w, r, http.StatusForbidden, "This link was used before, or is older than five minutes. Run `spambloom web` again")
		return
	}
	http.SetCookie(w, cookie)
	// Not a redirection: a browser that came from another program sends a strict cookie only
	// with a request that this page makes.
	w.Header().Set("Refresh", "0; url=/")
	in := r.Clone(r.Context()) // the request as the browser will send it from now on
	in.Header.Del("Cookie")
	in.AddCookie(cookie)
	p.show(w, http.StatusOK, "done", p.view(in, "Signed in", doneData{Text: "You are signed in.", Next: "/", Words: "Go on to the page"}))
}

// leave ends the session.
func (p *Page) leave(w http.ResponseWriter, r *http.Request) {
	p.withForm(w, r, errForm, func() {
		p.Sessions.leave(r)
		http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
}

// doneData says what was done, and where to go on.
type doneData struct {
	Text        string
	Next, Words string
}
