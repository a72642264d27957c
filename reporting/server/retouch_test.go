package server

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
)

func TestRetouch(t *testing.T) {
	c, ctx := serve(t), t.Context()
	r := api.NewRequest(desktest.Set("body", "text"))
	r.Reporter = "anna@example.org"
	if _, err := client.Post(ctx, c.client, v1.Retouch, api.Request{}); !isProblem(err, http.StatusUnprocessableEntity) {
		t.Errorf("without signatures: %v", err)
	}
	if done, err := client.Post(ctx, c.client, v1.Retouch, r); err != nil || len(done.Listings) != 0 || done.Verdict != "clean" {
		t.Errorf("not listed: %s, %v", asJSON(t, done), err)
	}
	if _, err := client.Post(ctx, c.client, v1.Report, r); err != nil {
		t.Fatal(err)
	}
	plan, err := client.Post(ctx, c.client, v1.PlanRetouch, r)
	if err != nil || len(plan.Listings) != 2 || plan.Loss != 2 || plan.LossOfOthers != 0 || plan.Verdict != "spam" {
		t.Errorf("plan %s, %v", asJSON(t, plan), err)
	}
	done, err := client.Post(ctx, c.client, v1.Retouch, r)
	if err != nil || len(done.Listings) != 2 || done.Verdict != "clean" {
		t.Errorf("done %s, %v", asJSON(t, done), err)
	}
	x, err := client.Post(ctx, c.client, v1.Explain, api.SenderRequest{Request: r})
	if err != nil || x.Verdict != "clean" || x.Signatures[0].Listed || !x.Signatures[0].Spam[0].Retouched {
		t.Errorf("explained %s, %v", asJSON(t, x), err)
	}
	list, err := client.Get(ctx, c.client, v1.Retouched)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	if err != nil || list.Total != 2 || len(list.Signatures) != 2 || !list.Signatures[1].At.Equal(at) || list.Signatures[0].Generation != 2968 {
		t.Errorf("list %s, %v", asJSON(t, list), err)
	}
	wantMetric(t, c.desk, `spambloom_reports_total{action="retouch",class="other"} 2`)
	if log := c.log.String(); !strings.Contains(log, `msg="retouch accepted" reporter=anna@example.org origin.uid=`) || !strings.Contains(log, "listings=2 loss=2") {
		t.Errorf("log %q", log)
	}
}

func isProblem(err error, status int) bool {
	var p *api.Problem
	return errors.As(err, &p) && p.Status == status
}
