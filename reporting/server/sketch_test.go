package server

import (
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// likely is message n whose text differs in its first words from that of others.
func likely(n byte, differing uint64) signature.Set {
	s := signature.Sketch{Kind: signature.KindSketch}
	for pos := range uint64(60) {
		word := pos
		if pos < differing {
			word += 1000 * uint64(n)
		}
		s.Anchors = append(s.Anchors, signature.Feature{Hash: (2*word + 1) * 0x9e3779b97f4a7c15, Pos: uint32(pos)})
		s.Keys = append(s.Keys, signature.Feature{Hash: (2*word + 2) * 0x9e3779b97f4a7c15, Pos: uint32(pos)})
	}
	text := signature.Signature{Kind: signature.KindText, Digest: signature.Digest{n}}
	return signature.Set{Signatures: []signature.Signature{text}, Sketches: []signature.Sketch{s}}
}

// Through the API: a near-duplicate of what was reported is spam, with how alike it
// is, and explain says so by site; once one is revoked, it is not.
func TestSketchAnswers(t *testing.T) {
	c, ctx := serve(t), t.Context()
	if _, err := client.Post(ctx, c.client, v1.Report, api.NewRequest(likely(1, 0))); err != nil {
		t.Fatal(err)
	}
	near := api.NewRequest(likely(2, 6))
	a, err := client.Post(ctx, c.client, v1.Check, near)
	if err != nil || a.Verdict != "spam" || !slices.Equal(a.Kinds, []string{"sketch"}) || !strings.HasPrefix(a.ID, "sketch:") {
		t.Fatalf("near-duplicate: %+v, %v", a, err)
	}
	if o := a.Overlap; o == nil || o.Found < o.Need || o.Need == 0 || o.Keys < o.Found {
		t.Errorf("overlap %+v", o)
	}
	x, err := client.Post(ctx, c.client, v1.Explain, api.SenderRequest{Request: near})
	if err != nil || len(x.Sketches) != 1 || len(x.Sketches[0].Spam) != 1 || len(x.Sketches[0].Revoked) != 0 {
		t.Fatalf("explained: %+v, %v", x, err)
	}
	if trail := x.Sketches[0].Spam[0]; trail.Site != "mx1" || trail.Found < a.Overlap.Found || trail.Start.IsZero() {
		t.Errorf("trail %+v, overlap %+v", trail, a.Overlap)
	}
	if a, err := client.Post(ctx, c.client, v1.Check, api.NewRequest(likely(1, 0))); err != nil || a.Overlap != nil || !slices.Equal(a.Kinds, []string{"text", "sketch"}) {
		t.Errorf("the reported one: %+v, %v", a, err)
	}
	if _, err := client.Post(ctx, c.client, v1.Revoke, api.NewRequest(likely(3, 3))); err != nil {
		t.Fatal(err)
	}
	if a, err := client.Post(ctx, c.client, v1.Check, near); err != nil || a.Verdict != "clean" || a.Overlap != nil {
		t.Errorf("after another one was revoked: %+v, %v", a, err)
	}
	if x, err := client.Post(ctx, c.client, v1.Explain, api.SenderRequest{Request: near}); err != nil || len(x.Sketches) != 1 || len(x.Sketches[0].Revoked) != 1 {
		t.Errorf("explained: %+v, %v", x, err)
	}
}
