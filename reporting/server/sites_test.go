package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
)

// hearReport lets c hear that another site reported a message.
func (c *control) hearReport(t *testing.T, site string, texts ...string) {
	t.Helper()
	o := desktest.Options(t.TempDir())
	o.Site, o.Exchange = site, true
	other, err := bloomdb.Open(o)
	testenv.Check(t, err)
	defer other.Close()
	testenv.Check(t, other.Resume(0, 0))
	testenv.Check(t, other.Report(desktest.Set(texts...), bloomdb.ClassOther))
	delta, ok, err := other.NextDelta(true)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	testenv.Check(t, c.db.Apply(delta.Data, bloomdb.Next))
}

// siteOf is the line of one site.
func (c *control) siteOf(t *testing.T, name string) api.Site {
	t.Helper()
	list, err := client.Get(t.Context(), c.client, v1.Sites)
	testenv.Check(t, err)
	for _, s := range list.Sites {
		if s.Site == name {
			return s
		}
	}
	t.Fatalf("no %s in %s", name, asJSON(t, list))
	return api.Site{}
}

func TestSites(t *testing.T) {
	c, ctx := serve(t), t.Context()
	list, err := client.Get(ctx, c.client, v1.Sites)
	if err != nil || !list.NewSite || len(list.Sites) != 2 || list.Sites[0].Site != "mx1" || list.Sites[0].State != api.StateSelf || list.Sites[1].Site != "mx3" || list.Sites[1].State != api.StateSilent {
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
	r := api.NewRequest(desktest.Set("body", "text"))
	verdict := func() string {
		a, err := client.Post(ctx, c.client, v1.Check, r)
		testenv.Check(t, err)
		return a.Verdict
	}
	for _, q := range []api.SiteRequest{{Site: "mx9"}, {Site: "mx1"}, {}} {
		for _, ask := range []func() (api.SiteReceipt, error){
			func() (api.SiteReceipt, error) { return client.Post(ctx, c.client, v1.Mute, q) },
			func() (api.SiteReceipt, error) { return client.Post(ctx, c.client, v1.Drop, q) },
		} {
			if done, err := ask(); !isProblem(err, http.StatusUnprocessableEntity) {
				t.Errorf("%q: %s, %v", q.Site, asJSON(t, done), err)
			}
		}
	}
	if _, err := client.Post(ctx, c.client, v1.Drop, api.SiteRequest{Site: "mx3", Undo: true}); !isProblem(err, http.StatusBadRequest) {
		t.Errorf("a drop was undone: %v", err)
	}
	if _, err := client.Post(ctx, c.client, v1.Mute, api.SiteRequest{Site: "mx3", Reporter: "a b"}); !isProblem(err, http.StatusBadRequest) {
		t.Errorf("a bad reporter: %v", err)
	}
	c.hearReport(t, "mx2", "body", "text")
	if v := verdict(); v != "spam" {
		t.Fatalf("heard: %s", v)
	}
	done, err := client.Post(ctx, c.client, v1.Mute, api.SiteRequest{Site: "mx2", Reporter: "anna"})
	if err != nil || done.Before.State != api.StateSilent || done.Now.State != api.StateMuted || done.Now.Cells != done.Before.Cells || verdict() != "clean" {
		t.Errorf("muted: %s, %v, %s", asJSON(t, done), err, verdict())
	}
	done, err = client.Post(ctx, c.client, v1.Mute, api.SiteRequest{Site: "mx2", Undo: true})
	if err != nil || done.Now.State != api.StateSilent || verdict() != "spam" {
		t.Errorf("heard again: %s, %v, %s", asJSON(t, done), err, verdict())
	}
	done, err = client.Post(ctx, c.client, v1.Drop, api.SiteRequest{Site: "mx2", Reporter: "anna"})
	if err != nil || done.Before.Cells == 0 || done.Now.State != api.StateDropped || done.Now.Cells != 0 || verdict() != "clean" {
		t.Errorf("dropped: %s, %v, %s", asJSON(t, done), err, verdict())
	}
	if s := c.siteOf(t, "mx2"); s.State != api.StateDropped {
		t.Errorf("%s", asJSON(t, s))
	}
	if log := c.log.String(); !strings.Contains(log, `msg="mute accepted" site=mx2 undo=false reporter=anna origin.uid=`) || !strings.Contains(log, `msg="drop accepted" site=mx2`) {
		t.Error(log)
	}
}
