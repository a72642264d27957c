package page

import "net/http"

// enter signs in the user of a link. The link is used up, so the browser's history and a
// copied address are of no use to anybody.
func (p *Page) enter(w http.ResponseWriter, r *http.Request) {
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
