package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/user"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
)

// machineUsers are the users of a machine that is made up.
var machineUsers = map[string]string{"0": "root", "100": "spambloom", "200": "vmail", "1000": "anna", "1001": "bob", "1002": "two words"}

func lookupUser(uid string) (*user.User, error) {
	if name, ok := machineUsers[uid]; ok {
		return &user.User{Uid: uid, Username: name}, nil
	}
	return nil, user.UnknownUserIdError(0)
}

func process(uid int, groups ...int) desk.Origin {
	return desk.Origin{UID: uid, GID: uid, PID: 7, Groups: groups, Known: true}
}

// accessOf serves a handler in which only the access matters.
func accessOf(t *testing.T, o *AccessOptions) (h http.Handler, log *logBuffer) {
	t.Helper()
	log = &logBuffer{}
	options := HandlerOptions{Decide: desktest.Decide, Log: slog.New(slog.NewTextHandler(log, nil))}
	if o != nil {
		options.Access = NewAccess(*o)
		options.Access.names.Lookup = lookupUser
	}
	db := desktest.OpenDB(t)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return NewHandler(desk.New(db, desktest.OpenLedger(t, trust.Default()), desk.Options{Log: options.Log}), options), log
}

// askAs sends a request from somewhere.
func askAs(h http.Handler, from desk.Origin, method, path, body string) (status int, detail string) {
	w := answerTo(h, from, method, path, body)
	var p api.Problem
	_ = json.Unmarshal(w.Body.Bytes(), &p)
	return w.Code, p.Detail
}

func answerTo(h http.Handler, from desk.Origin, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), originKey{}, from)))
	return w
}

// Rights depend on the caller: members of the group may ask and report, root
// and the daemon's user may do everything, a delegate may speak for others, and a
// mail store over TCP may do so, too.
func TestWhoMayDoWhat(t *testing.T) {
	group := AccessOptions{Group: "spambloom", GID: 100, DaemonUID: 100, Delegates: []string{"vmail"}}
	open := AccessOptions{DaemonUID: 100}
	for _, c := range []struct {
		who                         string
		from                        desk.Origin
		options                     *AccessOptions
		ask, report, speak, command bool
		reporter                    string // in whose name they report who name nobody
		origin                      string
	}{
		{"root", process(0), &group, true, true, true, true, "root", "unix:0"},
		{"the daemon's user", process(100), &group, true, true, true, true, "spambloom", "unix:100"},
		{"a member", process(1000, 4, 100), &group, true, true, false, false, "anna", "unix:1000"},
		{"a process of the group", desk.Origin{UID: 1000, GID: 100, Groups: []int{}, Known: true}, &group, true, true, false, false, "anna", "unix:1000"},
		{"no member", process(1001, 4), &group, false, false, false, false, "", "unix:1001"},
		{"a delegate that is no member", process(200), &group, true, true, true, false, "vmail", "unix:200"},
		{"anybody without a group", process(1001), &open, true, true, false, false, "bob", "unix:1001"},
		{"a user without a name", process(4711), &open, true, true, false, false, "uid:4711", "unix:4711"},
		{"a user with no reporter's name", process(1002), &open, true, true, false, false, "uid:1002", "unix:1002"},
		{"a mail store", desk.Origin{Client: "store1"}, &group, true, true, true, false, "store1", "tcp:store1"},
		{"nobody knows who", desk.Origin{}, &group, false, false, false, false, "", ""},
		{"nobody knows who, without a group", desk.Origin{}, &open, true, true, false, false, "unknown", ""},
		{"nobody, where nothing is asked", desk.Origin{}, nil, true, true, true, true, "", ""},
	} {
		h, log := accessOf(t, c.options)
		try := func(method, path, body string, may bool) {
			t.Helper()
			status, detail := askAs(h, c.from, method, path, body)
			if may == (status == http.StatusForbidden) {
				t.Errorf("%s, %s %s %.80s: status %d %s", c.who, method, path, body, status, detail)
			}
			if !may && (strings.Count(log.String(), "control request refused") == 0 || detail == "") {
				t.Errorf("%s, %s: refused with %q, log %q", c.who, path, detail, log.String())
			}
		}
		message := asJSON(t, api.NewRequest(desktest.Set("body", "text")))
		named := strings.Replace(message, "{", `{"reporter":"carol",`, 1)
		for _, path := range []string{"/v1/check", "/v1/explain"} {
			try("POST", path, named, c.ask) // the reporter of a question is of no matter
		}
		for _, path := range []string{"/v1/status", "/v1/sites", "/v1/retouched", "/v1/never/list"} {
			try("GET", path, "", c.ask)
		}
		try("POST", "/v1/report", message, c.report)
		if want := fmt.Sprintf("msg=\"report accepted\" reporter=%s ", orQuotes(c.reporter)); c.report != strings.Contains(log.String(), want) {
			t.Errorf("%s: log %q; want %q", c.who, log.String(), want)
		}
		try("POST", "/v1/revoke", named, c.speak)
		for _, path := range []string{"/v1/never", "/v1/never/remove", "/v1/retouch/plan", "/v1/retouch"} {
			try("POST", path, message, c.command)
		}
		try("POST", "/v1/mute", `{"site":"mx2"}`, c.command)
		try("POST", "/v1/drop", `{"site":"mx2"}`, c.command)
		if got := c.from.String(); got != c.origin {
			t.Errorf("%s: origin %q, want %q", c.who, got, c.origin)
		}
	}
}

func orQuotes(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

// A refusal says who asked, and who may.
func TestRefusals(t *testing.T) {
	h, _ := accessOf(t, &AccessOptions{Group: "spambloom", GID: 100, DaemonUID: 100, Delegates: []string{"vmail"}})
	bob := strings.Replace(asJSON(t, api.NewRequest(desktest.Set("body", "text"))), "{", `{"reporter":"bob",`, 1)
	for _, c := range []struct {
		from       desk.Origin
		path, body string
		want       string
	}{
		{process(1001), "/v1/check", "", "bob may not use the control socket: it is for root, the daemon's user, members of the group spambloom and delegates"},
		{process(1000, 100), "/v1/report", bob, "anna may not speak for bob: only root, the daemon's user and the delegates of [control] speak for others"},
		{process(200), "/v1/revoke", strings.Replace(bob, `"bob"`, `"Trap:t1"`, 1), "vmail may not speak for Trap:t1: that is a spam trap"},
		{desk.Origin{Client: "store1"}, "/v1/revoke", strings.Replace(bob, `"bob"`, `"trap:t1"`, 1), "store1 may not speak for trap:t1: that is a spam trap"},
		{process(1000, 100), "/v1/mute", "", "anna may not do this: only root and the daemon's user administrate"},
		{desk.Origin{Client: "store1"}, "/v1/mute", "", "store1 may not do this: a site is administrated on its own machine, by root and the daemon's user"},
		{desk.Origin{}, "/v1/report", "", "unknown may not use the control socket: it is for root, the daemon's user, members of the group spambloom and delegates"},
	} {
		if status, detail := askAs(h, c.from, "POST", c.path, c.body); status != http.StatusForbidden || detail != c.want {
			t.Errorf("%s: %d %s; want %s", c.path, status, detail, c.want)
		}
	}
}

// What is allowed changes with a reload, from the next request on.
func TestAccessReload(t *testing.T) {
	a := NewAccess(AccessOptions{DaemonUID: 100})
	a.names.Lookup = lookupUser
	r := httptest.NewRequest("POST", "/", nil)
	r = r.WithContext(context.WithValue(r.Context(), originKey{}, process(200)))
	if a.caller(r).mayReportFor("anna") {
		t.Error("vmail speaks for others before it is a delegate")
	}
	a.Reload(AccessOptions{DaemonUID: 100, Delegates: []string{"vmail"}})
	if !a.caller(r).mayReportFor("anna") {
		t.Error("vmail does not speak for others when it is a delegate")
	}
}
