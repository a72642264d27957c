package server

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
)

// An administrator feeds wanted mail; a later report of a phish does not list what the mail has in
// common. explain reports the daemon's own findings about its sender.
func TestLearn(t *testing.T) {
	c, ctx := serve(t), t.Context()
	learn := func(n byte, differing uint64, from string, daysAgo int) (api.Learned, error) {
		q := api.SenderRequest{Request: api.NewRequest(likely(n, differing)), From: from, At: desktest.Noon.AddDate(0, 0, -daysAgo)}
		return client.Post(ctx, c.client, v1.Learn, q)
	}
	for name, bad := range map[string]struct {
		from string
		want int
	}{
		"no domain":     {"", http.StatusUnprocessableEntity},
		"a host":        {"mail.shop.example.org", http.StatusBadRequest},
		"not a domain":  {"a b", http.StatusBadRequest},
		"a long domain": {fmt.Sprintf("%0300d.example", 1), http.StatusBadRequest},
	} {
		if _, err := learn(1, 60, bad.from, 0); !isProblem(err, bad.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := client.Post(ctx, c.client, v1.Learn, api.SenderRequest{From: "shop.example"}); !isProblem(err, http.StatusUnprocessableEntity) {
		t.Errorf("without signatures: %v", err)
	}
	if _, err := client.Post(ctx, c.client, v1.Report, api.NewRequest(likely(9, 60))); err != nil {
		t.Fatal(err)
	}
	if a, err := learn(9, 60, "shop.example", 1); err != nil || a.Learned {
		t.Errorf("reported mail: %+v, %v", a, err)
	}
	for day := range 4 {
		if a, err := learn(byte(day), 20, "accounts.example", day); err != nil || !a.Learned {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if _, err := client.Post(ctx, c.client, v1.Report, api.NewRequest(likely(10, 20))); err != nil {
		t.Fatal(err)
	}
	near := api.SenderRequest{Request: api.NewRequest(likely(11, 20)), From: "accounts.example"}
	if x, err := client.Post(ctx, c.client, v1.Explain, near); err != nil || x.Verdict != "spam" || x.Spared != "accounts.example" || x.NewSite {
		t.Errorf("explained: %+v, %v", x, err)
	}
	near.From = "other.example"
	if x, err := client.Post(ctx, c.client, v1.Explain, near); err != nil || x.Spared != "other.example" || !x.NewSite {
		t.Errorf("another sender, at a new site: %+v, %v", x, err)
	}
	near.Request = api.NewRequest(likely(10, 20))
	if x, err := client.Post(ctx, c.client, v1.Explain, near); err != nil || x.Spared != "" || x.NewSite {
		t.Errorf("an exact copy of another sender: %+v, %v", x, err)
	}
	wantMetric(t, c.desk, `spambloom_reports_total{action="learn",class="other"} 5`)
}

// All that has changed is written before the answer, which may take long: the deadline of small requests
// does not cut it off.
func TestKeepLearnedTakesItsTime(t *testing.T) {
	c, _ := served(t, reported(t, 1), HandlerOptions{}, func(s *http.Server) { s.WriteTimeout = 1 })
	testenv.Check(t, c.KeepLearned(t.Context()))
}
