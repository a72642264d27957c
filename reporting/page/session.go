package page

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/spambloom/spambloom/reporting/desk"
)

// Bounds of links and sessions.
const (
	linkLife    = 5 * time.Minute
	sessionLife = 12 * time.Hour
	sessionIdle = 2 * time.Hour
	maxOpen     = 256 // links and sessions each; one more ends the oldest, but none of root or the daemon's user
	maxOfUser   = 16  // of them of one user, so that no user can end the sessions of others
)

const cookieName = "spambloom"

// Sessions are the links and sessions of users, and of clients with a token. They are in memory
// only, so a restart of the daemon ends them. It is safe for concurrent use; the zero value is ready.
type Sessions struct {
	Now func() time.Time // nil: time.Now

	mu    sync.Mutex
	links map[string]*session // by the token of the link
	open  map[string]*session // by the cookie
}

// session is one user who is signed in, or may sign in.
type session struct {
	name   string
	origin desk.Origin // the user of the terminal; its rights are asked for each request
	from   string      // the browser's address; the cookie is of no use elsewhere
	form   string      // token that a form must repeat
	made   time.Time
	used   time.Time
}

// holds reports whether the user may still be signed in.
func (s *session) holds() bool { return s.origin.Holds == nil || s.origin.Holds() }

func (s *session) isAdministrators() bool {
	return s.origin.Known && (s.origin.UID == 0 || s.origin.UID == os.Geteuid())
}

func (s *Sessions) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// NewLink returns the token of a link that signs a user in, once, within five minutes.
func (s *Sessions) NewLink(name string, origin desk.Origin) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.links == nil {
		s.links, s.open = make(map[string]*session), make(map[string]*session)
	}
	s.expire()
	dropOldest(s.links, name)
	token := rand.Text()
	s.links[token] = &session{name: name, origin: origin, made: s.now(), used: s.now()}
	return token
}

// begin signs in a client of the control API that has proven its name by a token, while holds
// reports true. It returns the cookie of the session.
func (s *Sessions) begin(client string, holds func() bool, r *http.Request) *http.Cookie {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	return s.openFor(&session{name: client, origin: desk.Origin{Client: client, Holds: holds}}, r)
}

// enter uses a link up and returns the cookie of its session.
func (s *Sessions) enter(token string, r *http.Request) (*http.Cookie, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	link := s.links[token]
	if link == nil {
		return nil, false
	}
	delete(s.links, token)
	if !link.holds() {
		return nil, false
	}
	return s.openFor(link, r), true
}

// openFor begins a session for the sender of a request, and returns its cookie. The caller holds mu.
func (s *Sessions) openFor(user *session, r *http.Request) *http.Cookie {
	if s.open == nil {
		s.links, s.open = make(map[string]*session), make(map[string]*session)
	}
	dropOldest(s.open, user.name)
	value := rand.Text()
	user.from, user.form, user.made, user.used = addressOf(r), rand.Text(), s.now(), s.now()
	s.open[value] = user
	return cookieOf(r, cookieName, value, "/", sessionLife)
}

// cookieOf makes a cookie that no script reads and no other site sends.
func cookieOf(r *http.Request, name, value, path string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: path, MaxAge: int(life / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: isTLS(r),
	}
}

// isTLS reports whether a request came over TLS, here or to a proxy before this listener.
func isTLS(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// of returns the session of a request; nil if there is none.
func (s *Sessions) of(r *http.Request) *session {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	found := s.open[cookie.Value]
	if found == nil || found.from != addressOf(r) {
		return nil
	}
	if !found.holds() {
		delete(s.open, cookie.Value)
		return nil
	}
	found.used = s.now()
	return found
}

// leave ends the session of a request.
func (s *Sessions) leave(r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, cookie.Value)
	}
}

// expire removes what is too old. The caller holds mu.
func (s *Sessions) expire() {
	now := s.now()
	for token, link := range s.links {
		if now.Sub(link.made) > linkLife {
			delete(s.links, token)
		}
	}
	for value, open := range s.open {
		if now.Sub(open.made) > sessionLife || now.Sub(open.used) > sessionIdle {
			delete(s.open, value)
		}
	}
}

// dropOldest makes room for one more of a user: in place of the user's oldest one, if the
// user has as many as one may have, else of the oldest of all, if there are too many. Those of root
// and the daemon's user are not among these: a person may have thousands of users (subuid(5)).
func dropOldest(of map[string]*session, name string) {
	own := 0
	for _, s := range of {
		if s.name == name {
			own++
		}
	}
	if own < maxOfUser && len(of) < maxOpen {
		return
	}
	oldest := ""
	for key, s := range of {
		isCandidate := s.name == name
		if own < maxOfUser {
			isCandidate = !s.isAdministrators()
		}
		if isCandidate && (oldest == "" || s.made.Before(of[oldest].made)) {
			oldest = key
		}
	}
	delete(of, oldest)
}

// addressOf returns the address of a browser, without its port.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// allows reports whether a form with a token was made by a page of this session, and sent by one.
// A browser names the page that sends a form; the token is for those that do not.
func (s *session) allows(r *http.Request, token string) bool {
	return isOwn(r) && subtle.ConstantTimeCompare([]byte(token), []byte(s.form)) == 1
}

// isOwn reports whether a page of this site may have sent a request, by what the browser says of it.
func isOwn(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host && origin != "https://"+r.Host {
		return false
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "same-origin"
}
