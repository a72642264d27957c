package judging

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/signature"
)

// The message of these tests has a body, a text, an attachment and an image.
var (
	aBody      = signature.Signature{Kind: signature.KindBody, Digest: [32]byte{1}}
	aText      = signature.Signature{Kind: signature.KindText, Digest: [32]byte{2}}
	anAttached = signature.Signature{Kind: signature.KindAttachment, Digest: [32]byte{3}}
	anImage    = signature.Signature{Kind: signature.KindImage, Digest: [32]byte{4}}
	aSketch    = signature.Signature{Kind: signature.KindSketch, Digest: [32]byte{5}}
	aDomain    = signature.DomainSignature("spam.example")
	decidedSet = signature.Set{Signatures: []signature.Signature{aBody, aText, anAttached}, Domains: []string{"spam.example"}}
	testPolicy = Policy{Site: "here", Votes: 2, Campaigns: 3}
)

// reportedIn returns the facts of a signature that sites have reported in one generation.
func reportedIn(s signature.Signature, gen int64, sites ...string) signatureFacts {
	return signatureFacts{signature: s, listed: []listedIn{{layout.NewWord(gen, 0), sites}}, revoked: neverRevoked}
}

func (f signatureFacts) revokedIn(gen int64) signatureFacts { return f.revokedAt(gen, 1) }

func (f signatureFacts) revokedAt(gen int64, rung int) signatureFacts {
	f.revoked = layout.NewWord(gen, rung)
	return f
}

// listedAt are the facts of a signature that was reported again, at a rung.
func listedAt(s signature.Signature, gen int64, rung int, sites ...string) signatureFacts {
	f := reportedIn(s, gen, sites...)
	f.listed[0].word = layout.NewWord(gen, rung)
	return f
}

// at are the words of one rung in one generation.
func at(gen int64, rung int) words { return words{{0, layout.NewWord(gen, rung)}} }

func (f signatureFacts) retouchedIn(gens ...int64) signatureFacts {
	f.retouched = gens
	return f
}

func (f signatureFacts) as(classes ...classedIn) signatureFacts {
	f.classes = classes
	return f
}

// near returns the facts of a sketch that matches in one generation.
func near(s signature.Signature, gen int64, isStrong bool) sketchFacts {
	m := sketchMatch{Match: Match{Signature: s, Generation: gen, Sites: []string{"a"}}, isStrong: isStrong}
	return sketchFacts{matches: []sketchMatch{m}}
}

// campaigns returns the facts of a domain that this site has seen only in spam.
func campaigns(newest int64, reports signatureFacts) linkFacts {
	return linkFacts{domain: "spam.example", counts: store.DomainCounts{Campaigns: 3, Newest: newest, Unreported: 100_000}, reports: reports}
}

func decided(f facts) Evidence { return f.decide(&decidedSet, testPolicy) }

// The verdict follows from the facts alone.
func TestDecide(t *testing.T) {
	unreported := signatureFacts{signature: aDomain, revoked: neverRevoked}
	ordinary := linkFacts{domain: "spam.example", counts: store.DomainCounts{Campaigns: 3, Sightings: 30, Newest: 9, Unreported: 100_000}, reports: reportedIn(aDomain, 9, "a")}
	for name, c := range map[string]struct {
		facts facts
		want  Evidence // Signature, Revoked, Votes and Domain of matches are compared, and all that is no match
	}{
		"nothing": {},
		"reported": {
			facts: facts{signatures: []signatureFacts{reportedIn(aBody, 9, "a", "b"), reportedIn(aText, 9, "b", "c")}},
			want:  Evidence{Listed: true, Sites: 3, Matches: []Match{{Signature: aBody}, {Signature: aText}}},
		},
		"revoked in an older generation": {
			facts: facts{signatures: []signatureFacts{reportedIn(aBody, 9, "a").revokedIn(8)}},
			want:  Evidence{Listed: true, Sites: 1, Matches: []Match{{Signature: aBody}}},
		},
		"revoked in the same generation": {
			facts: facts{signatures: []signatureFacts{reportedIn(aBody, 9, "a").revokedIn(9)}},
			want:  Evidence{Matches: []Match{{Signature: aBody, Revoked: true}}},
		},
		"revoked and reported again in the same generation": {
			facts: facts{signatures: []signatureFacts{listedAt(aBody, 9, 2, "a").revokedAt(9, 1)}},
			want:  Evidence{Listed: true, Sites: 1, Matches: []Match{{Signature: aBody}}},
		},
		"reported again, and revoked again": {
			facts: facts{signatures: []signatureFacts{listedAt(aBody, 9, 2, "a").revokedAt(9, 3)}},
			want:  Evidence{Matches: []Match{{Signature: aBody, Revoked: true}}},
		},
		"reported again, and revoked in a newer generation": {
			facts: facts{signatures: []signatureFacts{listedAt(aBody, 9, 14, "a").revokedAt(10, 1)}},
			want:  Evidence{Matches: []Match{{Signature: aBody, Revoked: true}}},
		},
		"the class of what is reported again": {
			facts: facts{signatures: []signatureFacts{listedAt(aBody, 9, 2, "a").revokedAt(9, 1).as(classedIn{layout.NewWord(9, 2), layout.ClassPhish})}},
			want:  Evidence{Listed: true, Class: layout.ClassPhish, Sites: 1, Matches: []Match{{Signature: aBody}}},
		},
		"a near-duplicate is revoked and reported again": {
			facts: facts{sketches: []sketchFacts{{matches: near(aSketch, 9, true).matches, words: at(9, 2)}}, message: messageFacts{words: at(9, 4)}},
			want:  Evidence{Listed: true, Sites: 1, Matches: []Match{{Signature: aSketch}}},
		},
		"a near-duplicate is reported again, and the message is revoked": {
			facts: facts{sketches: []sketchFacts{{matches: near(aSketch, 9, true).matches, words: at(9, 4)}}, message: messageFacts{words: at(9, 3)}},
			want:  Evidence{Matches: []Match{{Signature: aSketch, Revoked: true}}},
		},
		"one of two is revoked": {
			facts: facts{signatures: []signatureFacts{reportedIn(aBody, 9, "a").revokedIn(10), reportedIn(aText, 9, "b")}},
			want:  Evidence{Listed: true, Sites: 1, Matches: []Match{{Signature: aText}, {Signature: aBody, Revoked: true}}},
		},
		"retouched": {
			facts: facts{signatures: []signatureFacts{reportedIn(aBody, 9, "a").retouchedIn(9)}},
		},
		"retouched, and reported before": {
			facts: facts{signatures: []signatureFacts{{signature: aBody, revoked: neverRevoked, retouched: []int64{9},
				listed: []listedIn{{layout.NewWord(9, 0), []string{"a"}}, {layout.NewWord(8, 0), []string{"b", "c"}}}}}},
			want: Evidence{Listed: true, Sites: 2, Matches: []Match{{Signature: aBody}}},
		},
		"the gravest class of what stands": {
			facts: facts{signatures: []signatureFacts{reportedIn(aBody, 9, "a").revokedIn(7).
				as(classedIn{layout.NewWord(9, 0), layout.ClassBulk}, classedIn{layout.NewWord(8, 0), layout.ClassPhish}, classedIn{layout.NewWord(7, 0), layout.ClassMalware})}},
			want: Evidence{Listed: true, Class: layout.ClassPhish, Sites: 1, Matches: []Match{{Signature: aBody}}},
		},
		"no class of what is revoked": {
			facts: facts{signatures: []signatureFacts{reportedIn(aBody, 9, "a").revokedIn(9).as(classedIn{layout.NewWord(10, 0), layout.ClassPhish})}},
			want:  Evidence{Matches: []Match{{Signature: aBody, Revoked: true}}},
		},
		"a near-duplicate": {
			facts: facts{sketches: []sketchFacts{near(aSketch, 9, true)}},
			want:  Evidence{Listed: true, Sites: 1, Matches: []Match{{Signature: aSketch}}},
		},
		"a near-duplicate, and the message is revoked": {
			facts: facts{sketches: []sketchFacts{near(aSketch, 9, true)}, message: messageFacts{words: at(9, 1)}},
			want:  Evidence{Matches: []Match{{Signature: aSketch, Revoked: true}}},
		},
		"a near-duplicate, and the message is retouched": {
			facts: facts{sketches: []sketchFacts{near(aSketch, 9, true)}, message: messageFacts{nil, []int64{9}}},
		},
		"a weak match": {
			facts: facts{sketches: []sketchFacts{near(aSketch, 9, false)}},
			want:  Evidence{Weak: []Match{{Signature: aSketch}}},
		},
		"a weak match that is revoked": {
			facts: facts{sketches: []sketchFacts{near(aSketch, 9, false)}, message: messageFacts{words: at(10, 1)}},
		},
		"too few votes": {
			facts: facts{votedBy: []string{"v"}},
			want:  Evidence{Votes: 1},
		},
		"votes": {
			facts: facts{votedBy: []string{"v", "w"}},
			want:  Evidence{Listed: true, Votes: 2, Sites: 2, Matches: []Match{{Signature: aText, Votes: true}}},
		},
		"votes, and it is listed": {
			facts: facts{votedBy: []string{"v", "w"}, signatures: []signatureFacts{reportedIn(aBody, 9, "a")}},
			want:  Evidence{Listed: true, Votes: 2, Sites: 1, Matches: []Match{{Signature: aBody}}},
		},
		"votes, and it is revoked in any generation": {
			facts: facts{votedBy: []string{"v", "w"}, message: messageFacts{words: at(1, 1)}},
			want:  Evidence{Votes: 2, Matches: []Match{{Signature: aText, Votes: true, Revoked: true}}},
		},
		"votes, and it is retouched": {
			facts: facts{votedBy: []string{"v", "w"}, message: messageFacts{nil, []int64{2}}},
			want:  Evidence{Votes: 2, Matches: []Match{{Signature: aText, Votes: true, Revoked: true}}},
		},
		"a domain that is found in spam only": {
			facts: facts{links: []linkFacts{campaigns(9, unreported)}},
			want:  Evidence{Listed: true, Sites: 1, Matches: []Match{{Signature: aDomain, Domain: "spam.example"}}},
		},
		"a domain that was revoked since": {
			facts: facts{links: []linkFacts{campaigns(9, unreported.revokedIn(9))}},
		},
		"a domain, and its message is revoked": {
			facts: facts{links: []linkFacts{campaigns(9, unreported)}, signatures: []signatureFacts{reportedIn(aBody, 9, "a").revokedIn(9)}},
			want:  Evidence{Matches: []Match{{Signature: aBody, Revoked: true}}},
		},
		"an ordinary domain": {facts: facts{links: []linkFacts{ordinary}}},
		"an ordinary domain beside a weak match": {
			facts: facts{links: []linkFacts{ordinary}, sketches: []sketchFacts{near(aSketch, 9, false)}},
			want: Evidence{Listed: true, Sites: 1, Weak: []Match{{Signature: aSketch}},
				Matches: []Match{{Signature: aSketch}, {Signature: aDomain, Domain: "spam.example"}}},
		},
		"a revoked domain beside a weak match": {
			facts: facts{links: []linkFacts{{domain: "spam.example", reports: reportedIn(aDomain, 9, "a").revokedIn(9)}}, sketches: []sketchFacts{near(aSketch, 9, false)}},
			want:  Evidence{Weak: []Match{{Signature: aSketch}}},
		},
		"a domain beside a weak match that is declared": {
			facts: facts{links: []linkFacts{ordinary}, sketches: []sketchFacts{near(anImage, 9, false)}, never: never.Coverage{Images: true}},
		},
		"declared": {
			facts: facts{signatures: []signatureFacts{reportedIn(aBody, 9, "a")}, never: never.Coverage{Message: true}},
			want:  Evidence{Never: true, Spared: []Match{{Signature: aBody}}},
		},
		"declared, with another attachment": {
			facts: facts{signatures: []signatureFacts{reportedIn(aBody, 9, "a"), reportedIn(anAttached, 9, "b").as(classedIn{layout.NewWord(9, 0), layout.ClassMalware})}, never: never.Coverage{Message: true}},
			want:  Evidence{Listed: true, Class: layout.ClassMalware, Never: true, Sites: 1, Matches: []Match{{Signature: anAttached}}, Spared: []Match{{Signature: aBody}}},
		},
		"the attachment is declared": {
			facts: facts{signatures: []signatureFacts{reportedIn(aBody, 9, "a"), reportedIn(anAttached, 9, "b")},
				never: never.Coverage{Parts: map[signature.Signature]bool{anAttached: true}}},
			want: Evidence{Listed: true, Sites: 1, Matches: []Match{{Signature: aBody}}, Spared: []Match{{Signature: anAttached}}},
		},
		"the most counted signature": {
			facts: facts{counts: []store.SiteCount{{Count: 5, Gen: 20, Site: "a"}, {Number: 1, Count: 2, Gen: 20, Site: "a"}, {Number: 1, Count: 2, Gen: 20, Site: "b"}, {Number: 1, Count: 2, Gen: 21, Site: "b"}}},
			want:  Evidence{Count: 6, Sites: 2},
		},
		"small counts of two periods": {
			facts: facts{counts: []store.SiteCount{{Count: 14, Gen: 21, Site: "b"}, {Count: 14, Gen: 20, Site: "b"}, {Count: 9, Gen: 20, Site: "c"}}},
			want:  Evidence{Count: 23, Sites: 2},
		},
		"a large count of two epochs, and a small one": {
			facts: facts{counts: []store.SiteCount{{Count: 8, Gen: 21, Site: "b"}, {Count: 8, Gen: 20, Site: "b"}, {Count: 7, Gen: 20, Site: "b"}}},
			want:  Evidence{Count: 23, Sites: 1},
		},
		"small counts of this site": {
			facts: facts{counts: []store.SiteCount{{Count: 14, Gen: 21, Site: testPolicy.Site}, {Count: 14, Gen: 20, Site: testPolicy.Site}}},
			want:  Evidence{Count: 28, OwnCount: 28, Sites: 1},
		},
		"counted and declared": {
			facts: facts{counts: []store.SiteCount{{Count: 5, Gen: 20, Site: "a"}}, signatures: []signatureFacts{reportedIn(aBody, 9, "b", "c")}, never: never.Coverage{Message: true}},
			want:  Evidence{Count: 5, Sites: 1, Never: true, Spared: []Match{{Signature: aBody}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.facts
			if got := simplified(decided(f)); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			empty := facts{vote: f.vote, signatures: unknown(f.signatures)}
			if got := simplified(decided(unite(f, empty))); len(f.links) == 0 && !reflect.DeepEqual(got, c.want) {
				t.Errorf("united with a keyspace that has nothing: %+v, want %+v", got, c.want)
			}
		})
	}
}

// unknown returns the facts of a keyspace in which no site reported some signatures.
func unknown(reported []signatureFacts) (list []signatureFacts) {
	for _, f := range reported {
		list = append(list, signatureFacts{signature: f.signature, revoked: neverRevoked})
	}
	return list
}

// simplified keeps of each match only what TestDecide compares.
func simplified(e Evidence) Evidence {
	simple := func(matches []Match) (list []Match) {
		for _, m := range matches {
			list = append(list, Match{Signature: m.Signature, Revoked: m.Revoked, Votes: m.Votes, Domain: m.Domain})
		}
		return list
	}
	e.Matches, e.Weak, e.Spared = simple(e.Matches), simple(e.Weak), simple(e.Spared)
	return e
}

// The facts of either keyspace count, and nothing counts twice.
func TestUnite(t *testing.T) {
	of := func(f signatureFacts) facts { return facts{signatures: []signatureFacts{f}} }
	for name, c := range map[string]struct {
		a, b facts
		want Evidence // as in TestDecide
	}{
		"reported under both keys": {
			a: of(reportedIn(aBody, 9, "a", "b")), b: of(reportedIn(aBody, 9, "b", "c")),
			want: Evidence{Listed: true, Sites: 3, Matches: []Match{{Signature: aBody}}},
		},
		"the newest generation wins": {
			a: of(reportedIn(aBody, 8, "a", "b")), b: of(reportedIn(aBody, 9, "b").revokedIn(8)),
			want: Evidence{Listed: true, Sites: 1, Matches: []Match{{Signature: aBody}}},
		},
		"revoked under the other key": {
			a: of(reportedIn(aBody, 9, "a")), b: of(unknown([]signatureFacts{{signature: aBody}})[0].revokedIn(9)),
			want: Evidence{Matches: []Match{{Signature: aBody, Revoked: true}}},
		},
		"retouched under the other key": {
			a: of(reportedIn(aBody, 9, "a")), b: of(unknown([]signatureFacts{{signature: aBody}})[0].retouchedIn(9)),
		},
		"reported again under the other key": {
			a: of(reportedIn(aBody, 9, "a").revokedIn(9)), b: of(listedAt(aBody, 9, 2, "b")),
			want: Evidence{Listed: true, Sites: 2, Matches: []Match{{Signature: aBody}}},
		},
		"a near-duplicate that is reported again under the other key": {
			a:    facts{sketches: []sketchFacts{{matches: near(aSketch, 9, true).matches, words: at(9, 1)}}, message: messageFacts{words: at(9, 1)}},
			b:    facts{sketches: []sketchFacts{{words: at(9, 2)}}, message: messageFacts{words: at(9, 2)}},
			want: Evidence{Listed: true, Sites: 1, Matches: []Match{{Signature: aSketch}}},
		},
		"a class under the other key": {
			a: of(reportedIn(aBody, 9, "a").as(classedIn{layout.NewWord(9, 0), layout.ClassBulk})), b: of(reportedIn(aBody, 8, "a").as(classedIn{layout.NewWord(8, 0), layout.ClassScam})),
			want: Evidence{Listed: true, Class: layout.ClassScam, Sites: 1, Matches: []Match{{Signature: aBody}}},
		},
		"a weak match, and a match under the other key": {
			a: facts{sketches: []sketchFacts{near(aSketch, 9, false)}}, b: facts{sketches: []sketchFacts{near(aSketch, 8, true)}},
			want: Evidence{Listed: true, Sites: 1, Matches: []Match{{Signature: aSketch}}},
		},
		"a near-duplicate that is revoked under the other key": {
			a:    facts{sketches: []sketchFacts{near(aSketch, 9, true)}},
			b:    facts{sketches: []sketchFacts{{words: at(9, 1)}}},
			want: Evidence{Matches: []Match{{Signature: aSketch, Revoked: true}}},
		},
		"one vote under each key": {
			a: facts{votedBy: []string{"v"}, vote: 1}, b: facts{votedBy: []string{"w"}, vote: 0},
			want: Evidence{Listed: true, Votes: 2, Sites: 2, Matches: []Match{{Signature: aText, Votes: true}}},
		},
		"a vote under both keys": {
			a: facts{votedBy: []string{"v"}}, b: facts{votedBy: []string{"v"}},
			want: Evidence{Votes: 1},
		},
		"counted under both keys": {
			a:    facts{counts: []store.SiteCount{{Count: 5, Gen: 20, Site: "a"}, {Count: 1, Gen: 20, Site: "a"}, {Count: 1, Gen: 21, Site: "b"}}}, // a in two lives
			b:    facts{counts: []store.SiteCount{{Count: 4, Gen: 20, Site: "a"}, {Count: 3, Gen: 21, Site: "b"}}},
			want: Evidence{Count: 9, Sites: 2},
		},
		"declared under the other key": {
			a: of(reportedIn(aBody, 9, "a")), b: facts{signatures: unknown([]signatureFacts{{signature: aBody}}), never: never.Coverage{Message: true}},
			want: Evidence{Never: true, Spared: []Match{{Signature: aBody}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, f := range []facts{unite(c.a, c.b), unite(c.b, c.a)} {
				if got := simplified(decided(f)); !reflect.DeepEqual(got, c.want) {
					t.Errorf("%+v, want %+v", got, c.want)
				}
			}
		})
	}
}

// The order of keyspaces does not matter, and uniting the same facts again changes nothing.
// unite changes neither of its arguments.
func TestUniteAnyFacts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawFacts(t, "a"), drawFacts(t, "b")
		before := decided(a)
		one, other := decided(unite(a, b)), decided(unite(b, a))
		if !reflect.DeepEqual(one, other) {
			t.Fatalf("%+v\nin the other order %+v", one, other)
		}
		if after := decided(a); !reflect.DeepEqual(before, after) {
			t.Fatalf("%+v\nafterwards %+v", before, after)
		}
		if twice := decided(unite(a, a)); !reflect.DeepEqual(before, twice) {
			t.Fatalf("%+v\ntwice %+v", before, twice)
		}
	})
}

// drawFacts draws facts of the message's body and text, of a sketch, votes and counts.
func drawFacts(t *rapid.T, name string) facts {
	gens := rapid.Int64Range(1, 4)
	rungs := rapid.IntRange(0, layout.Rungs/2-1)
	revoked := rapid.OneOf(rapid.Just(layout.Word(neverRevoked)), rapid.Custom(func(t *rapid.T) layout.Word {
		return layout.NewWord(gens.Draw(t, "generation"), 2*rungs.Draw(t, "rung")+1)
	}))
	names := rapid.Custom(func(t *rapid.T) []string {
		sites := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3, rapid.ID[string]).Draw(t, "sites")
		slices.Sort(sites)
		return sites
	})
	descending := func(from []int64) []int64 { slices.Sort(from); slices.Reverse(from); return from }
	some := func(label string) []int64 {
		return descending(rapid.SliceOfNDistinct(gens, 0, 3, rapid.ID[int64]).Draw(t, name+label))
	}
	about := func(label string) (list words) {
		for _, gen := range some(label) {
			list = append(list, wordAbout{0, layout.NewWord(gen, rapid.IntRange(1, layout.Rungs-1).Draw(t, name+label+" rung"))})
		}
		return list
	}
	f := facts{message: messageFacts{about(" message"), some(" message retouched")}}
	for _, s := range []signature.Signature{aBody, aText} {
		sf := signatureFacts{signature: s, revoked: revoked.Draw(t, name+" revoked"), retouched: some(" retouched")}
		for _, gen := range some(" listed") {
			sf.listed = append(sf.listed, listedIn{layout.NewWord(gen, 2*rungs.Draw(t, name+" report")), names.Draw(t, name+" sites")})
		}
		f.signatures = append(f.signatures, sf)
	}
	sketch := sketchFacts{words: about(" sketch")}
	for _, gen := range some(" sketches") {
		m := Match{Signature: aSketch, Generation: gen, Sites: names.Draw(t, name+" sites")}
		sketch.matches = append(sketch.matches, sketchMatch{Match: m, isStrong: rapid.Bool().Draw(t, name+" strong")})
	}
	f.sketches = []sketchFacts{sketch}
	if f.votedBy = names.Draw(t, name+" voted by"); rapid.Bool().Draw(t, name+" no votes") {
		f.votedBy, f.vote = nil, journal.VotesPerMessage
	}
	for _, gen := range some(" counts") {
		f.counts = append(f.counts, store.SiteCount{Count: rapid.Uint32Range(1, 9).Draw(t, name+" count"), Gen: gen, Site: "a"})
	}
	return f
}
