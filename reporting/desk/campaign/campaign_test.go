package campaign_test

import (
	"encoding/binary"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/desk/campaign"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// Reports with one attachment in common are one campaign, with all their signatures and sketches.
// Gathering them takes time in proportion to their number: here it would take most of an hour
// otherwise, and /readyz waits for it.
func TestCampaignOfManySignatures(t *testing.T) {
	const reports, own = 20_000, 2*signature.MaxAttachments + 2
	n := uint64(0)
	signed := func(n uint64) signature.Signature {
		s := signature.Signature{Kind: signature.KindAttachment}
		binary.BigEndian.PutUint64(s.Digest[:], n*0x9e3779b97f4a7c15)
		return s
	}
	var list []ledger.Report
	for range reports {
		r := ledger.Report{Reporter: "mallory", Anchors: []ledger.Anchors{{Hashes: []uint64{1, 2}, Need: 2}, {Hashes: []uint64{n + 3, 4}, Need: 2}}}
		r.Set.Signatures = []signature.Signature{signed(0)}
		for range own {
			n++
			r.Set.Signatures = append(r.Set.Signatures, signed(n))
		}
		list = append(list, r)
	}
	got := campaign.Of(list, func(signature.Set) bloomdb.Evidence { return bloomdb.Evidence{} })
	if len(got) != 1 || got[0].Reports != reports {
		t.Fatalf("%d campaigns", len(got))
	}
	if m := got[0].Mail; len(m.Signatures) != 1+own*reports || len(m.Anchors) != 1+reports || len(m.Need) != len(m.Anchors) {
		t.Errorf("%d signatures, %d sketches, %d needs; want each once", len(m.Signatures), len(m.Anchors), len(m.Need))
	}
}
