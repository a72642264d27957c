package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/figures"
	"github.com/spambloom/spambloom/reporting/overview"
	"github.com/spambloom/spambloom/reporting/watch"
	"github.com/spambloom/spambloom/signature"
)

var noNeed = regexp.MustCompile(`(?m)^spambloom_needs\{kind="\w+"\} 0$`)

// The page, `spambloom status`, /readyz and /metrics agree in each state: the page is green only if
// /readyz has nothing to add to "ready", /readyz answers 503 only for a fault, and /metrics counts
// what needs somebody.
func TestStatesAgree(t *testing.T) {
	away := func(t *testing.T, d *service) {
		client, err := redisclient.Dial("redis://127.0.0.1:1/0", redisclient.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		d.exchange = exchange.New(d.db, streams.New(client, d.db.Status().KeyID), exchange.Options{Log: d.log})
		d.begun = d.db.Now().Add(-2 * watch.Settling)
	}
	enter := func(t *testing.T, as func(desk.Report) (desk.Outcome, error), who string) {
		set := signature.Set{Signatures: []signature.Signature{{Kind: signature.KindText, Digest: signature.Digest{22}}}}
		if _, err := as(desk.Report{Set: set, Reporter: who, Class: bloomdb.ClassOther}); err != nil {
			t.Fatal(err)
		}
	}
	write := func(t *testing.T, d *service, name string) {
		path := filepath.Join(d.started.Data, name)
		if err := os.RemoveAll(filepath.Join(d.started.Data, "history")); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("no history"), 0o600); err != nil {
			t.Fatal(err)
		}
		d.openHistory()
	}
	for name, c := range map[string]struct {
		make  func(*testing.T, *service)
		state string
		needs []string // on the page and in status
		ready []string // in /readyz, after "ready"
	}{
		"well":       {func(*testing.T, *service) {}, overview.OK, nil, nil},
		"Redis away": {away, overview.Attention, []string{"No connection to Redis"}, []string{"exchange: Redis: "}},
		"just started": {func(t *testing.T, d *service) {
			away(t, d)
			d.begun, d.started.Members = d.db.Now(), wire.Members{"mx2": {}}
		}, overview.OK, nil, nil},
		"no history":      {func(t *testing.T, d *service) { write(t, d, "history") }, overview.Attention, []string{"Counts by hour are not kept"}, []string{"history: counts by hour are not kept"}},
		"damaged history": {func(t *testing.T, d *service) { write(t, d, "history/2026-01.counts") }, overview.Attention, []string{"history/2026-01.counts.damaged is damaged"}, []string{"damaged: history/2026-01.counts.damaged"}},
		"bad reload": {func(_ *testing.T, d *service) {
			text := "line 3: unknown key"
			d.reloadFault.Store(&text)
		}, overview.Attention, []string{"line 3: unknown key. The daemon runs with the previous configuration."}, []string{"configuration: the file is not in use: line 3"}},
		"a day without mail": {func(_ *testing.T, d *service) {
			d.begun = d.db.Now().Add(-2 * time.Hour)
		}, overview.Attention, []string{"No mail has arrived for 24 hours"}, []string{"in use: No mail has arrived for 24 hours"}},
		"contested": {func(t *testing.T, d *service) {
			enter(t, d.desk.Report, "anna")
			enter(t, d.desk.Revoke, "bert")
		}, overview.Attention, []string{"Your users disagree about a message:"}, []string{"in use: Your users disagree about a message:"}},
		"too full": {func(t *testing.T, d *service) {
			enter(t, d.desk.Report, "anna")
			d.started.Reports.MaxErrorPerMail = 1e-300
		}, overview.Attention, []string{"The filters are too full"}, []string{"in use: The filters are too full"}},
		"silent site": {func(t *testing.T, d *service) {
			away(t, d)
			d.started.Members = wire.Members{"mx2": {}}
		}, overview.Attention, []string{"No connection to Redis", "mx2 has not been heard"}, []string{"exchange: mx2 has not been heard since the start"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := monitored(t)
			d.serving.Store(true)
			c.make(t, d)
			status, err := d.desk.Status()
			if err != nil {
				t.Fatal(err)
			}
			o, page, ready := d.overview(status), httptest.NewRecorder(), httptest.NewRecorder()
			h := d.newHTTP().Handler
			h.ServeHTTP(page, monitorGet("/"))
			h.ServeHTTP(ready, monitorGet("/readyz"))
			if o.State != c.state || !strings.Contains(page.Body.String(), `<h1 class="state `+c.state+`">`) || !strings.Contains(page.Body.String(), o.Sentence) {
				t.Errorf("status is %s, %q, and the page is\n%s", o.State, o.Sentence, page.Body)
			}
			sites := httptest.NewRecorder()
			h.ServeHTTP(sites, monitorGet("/sites"))
			for path, body := range map[string]string{"/": page.Body.String(), "/sites": sites.Body.String()} {
				if isTagged := strings.Contains(body, "silent"); isTagged != (name == "silent site") {
					t.Errorf("%q, and on %s a site is tagged silent: %v", o.Sentence, path, isTagged)
				}
			}
			if body := page.Body.String() + sites.Body.String(); strings.Contains(body, ">waiting<") != (name == "just started") || strings.Contains(body, "waiting for its first record") != (name == "just started") {
				t.Errorf("%q, and sites that are waited for are not shown so:\n%s", o.Sentence, body)
			}
			for _, want := range c.needs {
				if text := o.Text(d.db.Now()); !strings.Contains(text, want) || !strings.Contains(page.Body.String(), want) {
					t.Errorf("%q is not in the page or in\n%s", want, text)
				}
			}
			metrics := httptest.NewRecorder()
			h.ServeHTTP(metrics, monitorGet("/metrics"))
			for _, need := range o.Needs {
				if want := fmt.Sprintf("spambloom_needs{kind=%q} %d\n", need.Kind, need.Count); !strings.Contains(metrics.Body.String(), want) {
					t.Errorf("/metrics lacks %q", want)
				}
			}
			if zeros := noNeed.FindAllString(metrics.Body.String(), -1); len(o.Needs)+len(zeros) != len(figures.Needs) {
				t.Errorf("%d things need somebody, and these kinds do not: %q", len(o.Needs), zeros)
			}
			body, isReady := strings.CutPrefix(ready.Body.String(), "ready\n")
			if isReady == (c.state == overview.Fault) || ready.Code == 200 != isReady || (body == "") != (c.state == overview.OK) {
				t.Errorf("/readyz: %d %q", ready.Code, ready.Body)
			}
			for _, want := range c.ready {
				if !strings.Contains(body, want) {
					t.Errorf("/readyz lacks %q:\n%s", want, body)
				}
			}
		})
	}
}
