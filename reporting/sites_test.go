package reporting

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

// hearReport lets c hear that another site reported a message.
func (c *control) hearReport(t *testing.T, site string, texts ...string) {
	t.Helper()
	o := smallOptions(t.TempDir())
	o.Site, o.Exchange = site, true
	other, err := bloomdb.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Resume(0, 0); err != nil {
		t.Fatal(err)
	}
	if err := other.Report(testSet(texts...), bloomdb.ClassOther); err != nil {
		t.Fatal(err)
	}
	delta, ok, err := other.NextDelta(true)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := c.db.Apply(delta.Data, bloomdb.Next); err != nil {
		t.Fatal(err)
	}
}

// siteOf is the line of one site.
func (c *control) siteOf(t *testing.T, name string) Site {
	t.Helper()
	list, err := c.client.Sites(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Sites {
		if s.Site == name {
			return s
		}
	}
	t.Fatalf("no %s in %s", name, asJSON(t, list))
	return Site{}
}

func TestSites(t *testing.T) {
	c, ctx := serve(t), t.Context()
	list, err := c.client.Sites(ctx)
	if err != nil || len(list.Sites) != 2 || list.Sites[0].Site != "mx1" || list.Sites[0].State != StateSelf || list.Sites[1].Site != "mx3" || list.Sites[1].State != StateSilent {
		t.Fatalf("%s, %v", asJSON(t, list), err)
	}
	c.hearReport(t, "mx2", "body", "text")
	heard := c.siteOf(t, "mx2")
	if heard.Trust != "full" || heard.Lives != 1 || heard.Cells == 0 || heard.Memory == 0 || heard.ErrorShare != 1 || heard.Link != nil {
		t.Errorf("%s", asJSON(t, heard))
	}
	if mx3 := c.siteOf(t, "mx3"); mx3.Lag != 3 || mx3.Refused["unsigned"] != 2 {
		t.Errorf("%s", asJSON(t, mx3))
	}
}

func TestMuteAndDrop(t *testing.T) {
	c, ctx := serve(t), t.Context()
	r := NewRequest(testSet("body", "text"))
	verdict := func() string {
		a, err := c.client.Check(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		return a.Verdict
	}
	for _, q := range []SiteRequest{{Site: "mx9"}, {Site: "mx1"}, {}} {
		for _, ask := range []func() (SiteReceipt, error){
			func() (SiteReceipt, error) { return c.client.Mute(ctx, q) },
			func() (SiteReceipt, error) { return c.client.Drop(ctx, q) },
		} {
			if done, err := ask(); !isProblem(err, http.StatusUnprocessableEntity) {
				t.Errorf("%q: %s, %v", q.Site, asJSON(t, done), err)
			}
		}
	}
	if _, err := c.client.Drop(ctx, SiteRequest{Site: "mx3", Undo: true}); !isProblem(err, http.StatusBadRequest) {
		t.Errorf("a drop was undone: %v", err)
	}
	if _, err := c.client.Mute(ctx, SiteRequest{Site: "mx3", Reporter: "a b"}); !isProblem(err, http.StatusBadRequest) {
		t.Errorf("a bad reporter: %v", err)
	}
	c.hearReport(t, "mx2", "body", "text")
	if v := verdict(); v != "spam" {
		t.Fatalf("heard: %s", v)
	}
	done, err := c.client.Mute(ctx, SiteRequest{Site: "mx2", Reporter: "anna"})
	if err != nil || done.Before.State != StateSilent || done.Now.State != StateMuted || done.Now.Cells != done.Before.Cells || verdict() != "clean" {
		t.Errorf("muted: %s, %v, %s", asJSON(t, done), err, verdict())
	}
	done, err = c.client.Mute(ctx, SiteRequest{Site: "mx2", Undo: true})
	if err != nil || done.Now.State != StateSilent || verdict() != "spam" {
		t.Errorf("heard again: %s, %v, %s", asJSON(t, done), err, verdict())
	}
	done, err = c.client.Drop(ctx, SiteRequest{Site: "mx2", Reporter: "anna"})
	if err != nil || done.Before.Cells == 0 || done.Now.State != StateDropped || done.Now.Cells != 0 || verdict() != "clean" {
		t.Errorf("dropped: %s, %v, %s", asJSON(t, done), err, verdict())
	}
	if s := c.siteOf(t, "mx2"); s.State != StateDropped {
		t.Errorf("%s", asJSON(t, s))
	}
	if log := c.log.String(); !strings.Contains(log, `msg="mute accepted" site=mx2 undo=false reporter=anna origin.uid=`) || !strings.Contains(log, `msg="drop accepted" site=mx2`) {
		t.Error(log)
	}
}

// Of what is true of a site, the gravest is told.
func TestSiteState(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	lately, long := now.Add(-time.Second), now.Add(-2*time.Minute)
	for want, s := range map[string]Site{
		StateDropped: {dropped: true, muted: true, Trust: "none", Link: &Link{Clock: true}},
		StateMuted:   {muted: true, Trust: "full", capped: true},
		StateIgnored: {Trust: "none", Link: &Link{Heard: &lately, Clock: true}},
		StateClock:   {Trust: "vote", capped: true, Link: &Link{Heard: &lately, Clock: true, Stale: true}},
		StateStale:   {Trust: "full", capped: true, Link: &Link{Heard: &lately, Stale: true, ChunksOf: 3}},
		StateCapped:  {Trust: "full", capped: true, Link: &Link{Heard: &lately, ChunksOf: 3}},
		StateLoading: {Trust: "full", Link: &Link{Heard: &long, ChunksOf: 3}},
		StateSilent:  {Trust: "full", Link: &Link{Heard: &long}},
		StateHeard:   {Trust: "full", Link: &Link{Heard: &lately}},
	} {
		if got := s.state(now); got != want {
			t.Errorf("%+v: %s, want %s", s, got, want)
		}
	}
	if got := (&Site{Trust: "full", Link: &Link{}}).state(now); got != StateSilent {
		t.Errorf("never heard: %s", got)
	}
}
