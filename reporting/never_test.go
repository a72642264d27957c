package reporting

import (
	"net/http"
	"strings"
	"testing"
)

func TestNever(t *testing.T) {
	c, ctx := serve(t), t.Context()
	r := NeverRequest{Request: NewRequest(testSet("body", "text")), Note: "newsletter"}
	r.Reporter = "anna@example.org"
	for name, bad := range map[string]NeverRequest{
		"control character in the note": {Request: r.Request, Note: "a\nb"},
		"long note":                     {Request: r.Request, Note: strings.Repeat("n", 201)},
		"id":                            {Request: r.Request, ID: "text:2c624232cdd22177"},
		"digest":                        {Request: Request{Signatures: []Signature{{Kind: "text", Digest: "12"}}}},
	} {
		if _, err := c.client.Never(ctx, bad); !isProblem(err, http.StatusBadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.client.Never(ctx, NeverRequest{}); !isProblem(err, http.StatusUnprocessableEntity) {
		t.Errorf("without signatures: %v", err)
	}
	if _, err := c.client.Report(ctx, r.Request); err != nil {
		t.Fatal(err)
	}
	added, err := c.client.Never(ctx, r)
	if err != nil || len(added.Entries) != 1 || added.Entries[0].Note != "newsletter" || added.Verdict == "spam" {
		t.Fatalf("added %s, %v", asJSON(t, added), err)
	}
	if _, err := c.client.Report(ctx, r.Request); !isProblem(err, http.StatusConflict) {
		t.Errorf("a report: %v", err)
	}
	x, err := c.client.Explain(ctx, r.Request)
	if err != nil || !x.Never || x.Signatures[0].Listed || !x.Signatures[0].Never {
		t.Errorf("explained %s, %v", asJSON(t, x), err)
	}
	if list, err := c.client.NeverList(ctx); err != nil || asJSON(t, list.Entries) != asJSON(t, added.Entries) {
		t.Errorf("list %s, %v", asJSON(t, list), err)
	}
	wantMetric(t, c.desk, `spambloom_reports_total{action="never",class="other"} 1`)
	wantMetric(t, c.desk, `spambloom_reports_refused_total{action="report",reason="never"} 1`)

	for _, id := range []string{"text", "text:zz", "smell:2c624232cdd22177"} {
		if _, err := c.client.Unnever(ctx, NeverRequest{ID: id}); !isProblem(err, http.StatusBadRequest) {
			t.Errorf("remove %q: %v", id, err)
		}
	}
	removed, err := c.client.Unnever(ctx, NeverRequest{ID: added.Entries[0].ID})
	if err != nil || len(removed.Entries) != 1 {
		t.Errorf("removed %s, %v", asJSON(t, removed), err)
	}
	removed, err = c.client.Unnever(ctx, r)
	if err == nil {
		t.Error("a note goes with a declaration only")
	}
	r.Note = ""
	if removed, err = c.client.Unnever(ctx, r); err != nil || len(removed.Entries) != 0 || removed.Verdict != "spam" {
		t.Errorf("removed twice: %s, %v", asJSON(t, removed), err)
	}
	if log := c.log.String(); !strings.Contains(log, `msg="never accepted" reporter=anna@example.org origin.uid=`) {
		t.Errorf("log %q", log)
	}
}
