package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
)

func TestNever(t *testing.T) {
	c, ctx := serve(t), t.Context()
	r := api.NeverRequest{Request: api.NewRequest(desktest.Set("body", "text")), Note: "newsletter"}
	r.Reporter = "anna@example.org"
	for name, bad := range map[string]api.NeverRequest{
		"control character in the note": {Request: r.Request, Note: "a\nb"},
		"long note":                     {Request: r.Request, Note: strings.Repeat("n", 201)},
		"id":                            {Request: r.Request, ID: "text:2c624232cdd22177"},
		"digest":                        {Request: api.Request{Signatures: []api.Signature{{Kind: "text", Digest: "12"}}}},
	} {
		if _, err := client.Post(ctx, c.client, v1.Never, bad); !isProblem(err, http.StatusBadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := client.Post(ctx, c.client, v1.Never, api.NeverRequest{}); !isProblem(err, http.StatusUnprocessableEntity) {
		t.Errorf("without signatures: %v", err)
	}
	if _, err := client.Post(ctx, c.client, v1.Report, r.Request); err != nil {
		t.Fatal(err)
	}
	added, err := client.Post(ctx, c.client, v1.Never, r)
	if err != nil || len(added.Entries) != 1 || added.Entries[0].Note != "newsletter" || added.Verdict == "spam" {
		t.Fatalf("added %s, %v", asJSON(t, added), err)
	}
	if _, err := client.Post(ctx, c.client, v1.Report, r.Request); !isProblem(err, http.StatusConflict) {
		t.Errorf("a report: %v", err)
	}
	x, err := client.Post(ctx, c.client, v1.Explain, api.SenderRequest{Request: r.Request})
	if err != nil || !x.Never || x.Signatures[0].Listed || !x.Signatures[0].Never {
		t.Errorf("explained %s, %v", asJSON(t, x), err)
	}
	if list, err := client.Get(ctx, c.client, v1.NeverList); err != nil || asJSON(t, list.Entries) != asJSON(t, added.Entries) {
		t.Errorf("list %s, %v", asJSON(t, list), err)
	}
	wantMetric(t, c.desk, `spambloom_reports_total{action="never",class="other"} 1`)
	wantMetric(t, c.desk, `spambloom_reports_refused_total{action="report",reason="never"} 1`)

	for _, id := range []string{"text", "text:zz", "smell:2c624232cdd22177"} {
		if _, err := client.Post(ctx, c.client, v1.RemoveNever, api.NeverRequest{ID: id}); !isProblem(err, http.StatusBadRequest) {
			t.Errorf("remove %q: %v", id, err)
		}
	}
	removed, err := client.Post(ctx, c.client, v1.RemoveNever, api.NeverRequest{ID: added.Entries[0].ID})
	if err != nil || len(removed.Entries) != 1 {
		t.Errorf("removed %s, %v", asJSON(t, removed), err)
	}
	removed, err = client.Post(ctx, c.client, v1.RemoveNever, r)
	if err == nil {
		t.Error("a note goes with a declaration only")
	}
	r.Note = ""
	if removed, err = client.Post(ctx, c.client, v1.RemoveNever, r); err != nil || len(removed.Entries) != 0 || removed.Verdict != "spam" {
		t.Errorf("removed twice: %s, %v", asJSON(t, removed), err)
	}
	if log := c.log.String(); !strings.Contains(log, `msg="never accepted" reporter=anna@example.org origin.uid=`) {
		t.Errorf("log %q", log)
	}
}
