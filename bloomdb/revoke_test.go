package bloomdb_test

import (
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// A message that was listed wrongly, for any reason, is clean at once on the site that revokes
// it, and on every other site with the next delta.
func TestRevocationEndsListing(t *testing.T) {
	for name, listed := range map[string]func(t *testing.T, a, b *bloomdb.DB) signature.Set{
		"by its own signatures": func(t *testing.T, a, b *bloomdb.DB) signature.Set {
			mustReportSet(t, a, bloomdbtest.Message(2))
			return bloomdbtest.Message(2)
		},
		"by a sketch": func(t *testing.T, a, b *bloomdb.DB) signature.Set {
			mustReportSet(t, a, wordy(1, words(0, 60)...))
			return wordy(2, append(words(0, 55), words(1000, 5)...)...)
		},
		"by a sketch, of a message that was cut off": func(t *testing.T, a, b *bloomdb.DB) signature.Set {
			mustReportSet(t, a, wordy(1, words(0, 60)...))
			set := wordy(2, words(0, 60)...)
			set.Signatures = with(signature.Set{}, signature.KindAttachment, "terms").Signatures
			set.Sketches[0].AskOnly = true
			return set
		},
		"by a weak sketch and a domain": func(t *testing.T, a, b *bloomdb.DB) signature.Set {
			reported := wordy(1, words(0, 20)...)
			reported.Domains = []string{"spam.example"}
			mustReportSet(t, a, reported)
			weak := weaklyLike(t, a)
			weak.Domains = []string{"spam.example"}
			return weak
		},
		"by a domain that is spam's alone on both sites": func(t *testing.T, a, b *bloomdb.DB) signature.Set {
			reportCampaigns(t, a, "spam", 30, "spam.example")
			reportCampaigns(t, b, "other", 30, "spam.example")
			return linking("ham", "spam.example")
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
			set := listed(t, a, b)
			bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
			if !a.Judge(set).Listed || !b.Judge(set).Listed {
				t.Fatal("not listed on both sites")
			}
			testenv.Check(t, b.Revoke(set))
			if e := b.Judge(set); e.Listed {
				t.Errorf("where it was revoked: %+v", e)
			}
			bloomdbtest.Apply(t, a, bloomdbtest.Drain(t, b)...)
			if e := a.Judge(set); e.Listed {
				t.Errorf("on the other site: %+v", e)
			}
		})
	}
}
