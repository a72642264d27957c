package judging

import (
	"testing"

	"github.com/spambloom/spambloom/bloomdb/keyspace/keyspacetest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// group returns a sketch of one group. Four of its keys make a match, three a weak one.
func group(keys ...uint64) []sketch.KindGroups {
	return []sketch.KindGroups{{Kind: signature.KindSketch, Groups: []signature.Group{{Anchor: 77, Keys: keys, Need: 4, Weak: 3}}}}
}

// Only the reports of two sites together have enough keys of a group: no site reported such a
// message.
func TestSketchOfOneSite(t *testing.T) {
	ks := openKeyspace(t, "mx1")
	for site, groups := range map[string][]sketch.KindGroups{"a": group(1, 2, 3), "b": group(4, 5, 6), "mx1": group(7, 8)} {
		from := ks
		if site != "mx1" {
			from = openKeyspace(t, site)
		}
		testenv.Check(t, listGroups(from, layout.SpamFilter, keyspacetest.Message(1), groups))
		if site != "mx1" {
			keyspacetest.Apply(t, ks, keyspacetest.Drain(t, from)...)
		}
	}
	if e := judgeGroups(ks, group(1, 2, 4, 5, 7, 8)); e.Listed || len(e.Weak) > 0 {
		t.Errorf("two keys of each of three sites: %+v", e)
	}
	if e := judgeGroups(ks, group(1, 2, 3, 4, 5)); e.Listed || len(e.Weak) != 1 || e.Weak[0].Sites[0] != "a" || e.Weak[0].Found != 3 {
		t.Errorf("three keys of one site, two of another: %+v", e)
	}
}

// An image on the never-list with a weak match is not listed by a domain beside it.
func TestNeverImageIsNotCorroborated(t *testing.T) {
	ks, other := openKeyspace(t, "a"), openKeyspace(t, "b")
	reported := keyspacetest.Message(1)
	reported.Domains = []string{"spam.example"}
	testenv.Check(t, listGroups(other, layout.SpamFilter, reported, group(1, 2, 3)))
	keyspacetest.Apply(t, ks, keyspacetest.Drain(t, other)...)
	weak := keyspacetest.Message(2)
	if e := judge(askGroups(ks, weak, group(1, 2, 3, 4, 5)), &weak); e.Listed || len(e.Weak) != 1 {
		t.Fatalf("without a domain: %+v", e)
	}
	weak.Domains = []string{"spam.example"}
	if !judge(askGroups(ks, weak, group(1, 2, 3, 4, 5)), &weak).Listed {
		t.Fatal("not listed before")
	}
	asked := askGroups(ks, weak, group(1, 2, 3, 4, 5))
	f := gather(asked, &weak)
	f.links = gatherLinks(asked, weak.Domains, true, testPolicy)
	if e := f.decide(&weak, testPolicy); !e.Listed {
		t.Fatalf("not listed by its domain: %+v", e)
	}
	f.never = never.Coverage{Images: true}
	f.sketches[0].matches[0].Signature.Kind = signature.KindImage
	e := f.decide(&weak, testPolicy)
	if e.Listed || len(e.Weak) > 0 || len(e.Matches) > 0 {
		t.Errorf("%+v", e)
	}
}

func TestCorroboration(t *testing.T) {
	stands, revoked := Match{}, Match{Revoked: true}
	for _, c := range []struct {
		name   string
		domain Match
		weak   []Match
		want   bool
	}{
		{"both stand", stands, []Match{stands}, true},
		{"a domain alone", stands, nil, false},
		{"the domain was revoked", revoked, []Match{stands}, false},
		{"the sketch was revoked", stands, []Match{revoked}, false},
	} {
		if got := corroborates(c.domain, c.weak); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
