package server

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/overview"
	"github.com/spambloom/spambloom/reporting/server/loglimit"
	"github.com/spambloom/spambloom/signature"
)

// HandlerOptions are the options of the control API besides its desk.
type HandlerOptions struct {
	// Decide returns the verdict for a message's evidence. signed is false if the message
	// has no signatures. Required.
	Decide func(e bloomdb.Evidence, signed bool) (verdict string)

	Version string            // of the daemon
	Status  func() any        // facts of the daemon's other parts, written as JSON; nil: none
	Sites   func() []api.Site // this site first; nil: no exchange with others

	// Link returns the address of the page that signs a user in; nil: there is no page.
	Link func(name string, origin desk.Origin) string

	Overview func(api.Status) *overview.Overview // nil: none

	// Access decides on the rights of callers. If it is nil, everybody who can connect has
	// every right, and may report in the names of others.
	Access *Access

	// Strangers counts rejected records of senders that are no sites of the federation, by
	// cause; nil: none.
	Strangers func() map[string]int64

	// SiteNotes returns why Redis cannot be used (empty: it can), and the other reasons why sites
	// are not heard; nil: none.
	SiteNotes func() (redisFault string, notes []string)

	Folder string   // the state folder, for backups
	Keys   []string // the site's key files; those in Folder are in a backup

	Log *slog.Logger // nil: discard
}

type handler struct {
	desk *desk.Desk
	HandlerOptions
	backing  sync.Mutex // held while a backup is being written
	turns    turns
	large    turns             // of requests that are larger than smallRequest, or may be
	lists    turns             // of requests whose answer lists reports
	refusals loglimit.Minutely // of the log lines
}

// NewHandler returns the control API described in API.md.
func NewHandler(d *desk.Desk, o HandlerOptions) http.Handler {
	o.Log, o.Access = cmp.Or(o.Log, slog.New(slog.DiscardHandler)), cmp.Or(o.Access, new(Access))
	few := func() turns { return turns{ofUser: maxLargeOfUser, all: make(chan struct{}, maxLarge)} }
	h := &handler{desk: d, HandlerOptions: o, large: few(), lists: few()}
	paths := make(map[string]http.HandlerFunc)
	for _, e := range h.endpoints() {
		paths[e.path] = h.guard(e)
	}
	// No ServeMux, because its redirects and refusals are no answers of this API.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer, ok := paths[r.URL.Path]; ok {
			answer(w, r)
			return
		}
		writeProblem(w, api.NewProblem(http.StatusNotFound, "there is no %.100q", r.URL.Path))
	})
}

func (h *handler) endpoints() []endpoint {
	return []endpoint{
		get(h, v1.Whoami, noRight, func(c caller) (api.Whoami, error) { return c.whoami(), nil }),
		post(h, v1.Check, askRight, h.check),
		post(h, v1.Explain, askRight, h.explain),
		post(h, v1.Report, reportRight, h.report),
		post(h, v1.Revoke, reportRight, h.revoke),
		post(h, v1.Reports, reportRight, h.trail),
		post(h, v1.RevokeID, adminRight, h.revokeID),
		post(h, v1.Lookup, reportRight, h.lookup),
		post(h, v1.Undo, adminRight, h.undo),
		post(h, v1.Reporters, reportRight, h.reporters),
		post(h, v1.SetWeight, adminRight, h.setWeight),
		post(h, v1.Contested, adminRight, func(_ caller, q api.ContestedRequest) (api.Contested, error) { return h.desk.Contested(q) }),
		post(h, v1.Settle, adminRight, h.settle),
		post(h, v1.Actions, adminRight, func(_ caller, q api.ActionsRequest) (api.Actions, error) { return h.desk.Actions(q) }),
		post(h, v1.Learn, adminRight, h.learn),
		post(h, v1.Retouch, adminRight, h.retouch),
		post(h, v1.PlanRetouch, adminRight, h.planRetouch),
		get(h, v1.Retouched, askRight, func(caller) (api.RetouchedList, error) { return h.desk.Retouched(), nil }),
		post(h, v1.Never, adminRight, h.never),
		post(h, v1.RemoveNever, adminRight, h.removeNever),
		get(h, v1.NeverList, askRight, func(caller) (api.NeverList, error) { return h.desk.NeverList(), nil }),
		get(h, v1.Sites, askRight, h.sites),
		post(h, v1.Mute, adminRight, h.mute),
		post(h, v1.Drop, adminRight, h.drop),
		get(h, v1.Status, askRight, h.status),
		get(h, v1.Web, askRight, h.web),
		{http.MethodGet, v1.Backup, adminRight, h.backup},
		{http.MethodGet, string(v1.Fsck), adminRight, h.fsck},
	}
}

// endpoint is one path of the API, with the right that it requires.
type endpoint struct {
	method, path string
	needs        right
	serve        func(http.ResponseWriter, *http.Request, caller)
}

// get makes an endpoint that takes no request.
func get[A any](h *handler, path v1.Get[A], needs right, answer func(caller) (A, error)) endpoint {
	return h.answered(http.MethodGet, string(path), needs, func(_ *http.Request, c caller) (any, error) { return answer(c) })
}

// post makes an endpoint that takes a request. What is wrong with its JSON is answered
// with status 400.
func post[Q, A any](h *handler, path v1.Post[Q, A], needs right, answer func(caller, Q) (A, error)) endpoint {
	return h.answered(http.MethodPost, string(path), needs, func(r *http.Request, c caller) (any, error) {
		var q Q
		if err := api.Decode(r.Body, &q); err != nil {
			return nil, badRequest(err)
		}
		return answer(c, q)
	})
}

// answered makes an endpoint with a bounded request and an answer in JSON.
func (h *handler) answered(method, path string, needs right, answer func(*http.Request, caller) (any, error)) endpoint {
	e := endpoint{method: method, path: path, needs: needs}
	e.serve = func(w http.ResponseWriter, r *http.Request, c caller) {
		r.Body = http.MaxBytesReader(w, r.Body, api.MaxBody)
		a, err := answer(r, c)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(stallTimeout)) // it may have taken its time
		if err == nil {
			writeJSON(w, http.StatusOK, "application/json", a)
			return
		}
		problem := problemOf(err)
		if problem.Status == http.StatusForbidden {
			var named impostor
			errors.As(err, &named)
			h.refuse(w, e, c, named.reporter, problem)
			return
		}
		h.fail(w, r, problem, err)
	}
	return e
}

// guard passes requests to an endpoint if the method is right and the caller has the right.
func (h *handler) guard(e endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != e.method {
			w.Header().Set("Allow", e.method)
			writeProblem(w, api.NewProblem(http.StatusMethodNotAllowed, "%s takes %s", r.URL.Path, e.method))
			return
		}
		c := h.Access.caller(r)
		if problem := c.needs(e.needs); problem != nil {
			h.refuse(w, e, c, "", problem)
			return
		}
		for _, t := range h.turnsOf(e, r) {
			leave, problem := t.take(r.Context(), c)
			if problem != nil {
				writeProblem(w, problem)
				return
			}
			defer leave()
		}
		e.serve(w, r, c)
	}
}

// turnsOf returns the turns that a request takes.
func (h *handler) turnsOf(e endpoint, r *http.Request) []*turns {
	t := []*turns{&h.turns}
	if r.ContentLength < 0 || r.ContentLength > smallRequest {
		t = append(t, &h.large)
	}
	if e.path == string(v1.Reports) || e.path == string(v1.Lookup) {
		t = append(t, &h.lists)
	}
	return t
}

// fail answers a request that an error has ended.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, problem *api.Problem, err error) {
	if problem.Status == http.StatusInternalServerError {
		h.Log.Error("control request failed", "path", r.URL.Path, "error", err)
	}
	writeProblem(w, problem)
}

// refuse answers a request for which the caller lacks the right. as is the reporter in
// whose name the caller wanted to report, if any. It logs one line a minute.
func (h *handler) refuse(w http.ResponseWriter, e endpoint, c caller, as string, p *api.Problem) {
	const line = "control request refused"
	if n := h.refusals.Take(line); n > 0 {
		h.Log.Warn(line, "path", e.path, "by", c.name, "as", as, "reason", p.Detail, c.origin.Attr(), "refused", n)
	}
	if e.needs >= reportRight { // questions are not counted
		h.desk.Refuse(strings.TrimPrefix(e.path, "/v1/"))
	}
	writeProblem(w, p)
}

// web answers v1.Web.
func (h *handler) web(c caller) (api.WebLink, error) {
	if h.Link == nil {
		return api.WebLink{}, api.NewProblem(http.StatusUnprocessableEntity, "this daemon has no page: [http] listen is empty, or another program had its address at the start (see the log)")
	}
	return api.WebLink{URL: h.Link(c.called(), h.Access.lasting(c.origin))}, nil
}

// verdict returns the verdict for the evidence on a message.
func (h *handler) verdict(e bloomdb.Evidence, set signature.Set) string {
	return h.Decide(e, len(set.Signatures) > 0)
}
