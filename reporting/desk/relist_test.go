package desk_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// withFile returns a message with a file of that content beside its own parts.
func withFile(set signature.Set, content string) signature.Set {
	set.Signatures = append(append([]signature.Signature{}, set.Signatures...), desktest.Set("", "", content).Signatures[2])
	return set
}

// The undo of a revocation lists only what a site had listed: not the text of a newsletter that was revoked together
// with the file of a spam, nor its picture or near-duplicates.
func TestUndoListsWhatWasListed(t *testing.T) {
	j := join(t, trust.Default())
	a, b := j.sites["a"], j.sites["b"]
	spam, news := desktest.Letter(1, 0), desktest.Letter(2, 0)
	a.MustReport("anna", withFile(spam, "spam"))
	j.exchange("a", "b")
	mixed := withFile(news, "spam")
	b.WantListed("a newsletter with the file", mixed, true)
	b.MustRevoke("carl", mixed)
	b.MustRevoke("carl", withFile(spam, "innocent"))
	for _, set := range []signature.Set{mixed, spam} {
		b.WantListed("revoked", set, false)
	}
	undo(t, b, "carl", desktest.Noon.Add(-time.Hour))
	j.exchange("b", "a")
	for _, s := range []*desktest.Stage{a, b} {
		s.WantListed("the newsletter", news, false)
		s.WantListed("its near-duplicate", desktest.Letter(2, 3), false)
		s.WantListed("another mail with the other file", withFile(desktest.Letter(3, 0), "innocent"), false)
		s.WantListed("the spam", spam, true)
		s.WantListed("its near-duplicate", desktest.Letter(1, 3), true)
		s.WantListed("another mail with its file", withFile(desktest.Letter(4, 0), "spam"), true)
	}
}

// A campaign of which a site has listed one copy is listed again after the undo of who revoked another one.
func TestUndoListsNearDuplicates(t *testing.T) {
	j := join(t, trust.Default())
	a, b := j.sites["a"], j.sites["b"]
	a.MustReport("anna", desktest.Letter(1, 0))
	j.exchange("a", "b")
	b.MustRevoke("carl", desktest.Letter(1, 5))
	b.WantListed("revoked", desktest.Letter(1, 5), false)
	undo(t, b, "carl", desktest.Noon.Add(-time.Hour))
	for copy := range 8 {
		b.WantListed("a copy", desktest.Letter(1, copy), true)
	}
}

// If the other site has revoked the message itself since, it stays revoked.
func TestUndoListsNothingThatItsSiteRevoked(t *testing.T) {
	j, news := join(t, trust.Default()), desktest.Letter(1, 0)
	a, b := j.sites["a"], j.sites["b"]
	a.MustReport("anna", news)
	j.exchange("a", "b")
	b.MustRevoke("carl", news)
	j.exchange("b", "a")
	a.MustRevoke("anna", news)
	j.exchange("a", "b")
	undo(t, b, "carl", desktest.Noon.Add(-time.Hour))
	b.WantListed("what both sites revoked", news, false)
}

// Reports that did not have the quorum until the undo are listed, although no filter has them.
func TestUndoListsReports(t *testing.T) {
	s, spam := desktest.New(t, desktest.TwoNeeded, 0), desktest.Letter(1, 0)
	s.MustReport("anna", spam)
	s.MustRevoke("carl", spam)
	s.MustRevoke("dora", spam)
	s.MustReport("bert", spam)
	s.WantListed("two against two", spam, false)
	undo(t, s, "carl", desktest.Noon.Add(-time.Hour))
	s.WantListed("two against one", spam, true)
	s.WantListed("its near-duplicate", desktest.Letter(1, 3), true)
}

// The same where this site's users reported one copy and others revoked another: the ledger compares copies more
// strictly than the filters do. It is not listed if nobody reports it any more.
func TestUndoListsOwnNearDuplicates(t *testing.T) {
	for name, c := range map[string]struct {
		model    trust.Model
		reporter []string
		revokers []string
		undone   []string
		isListed bool
	}{
		"one":             {trust.Default(), []string{"anna"}, []string{"irc"}, []string{"irc"}, true},
		"two needed":      {desktest.TwoNeeded, []string{"anna", "bert"}, []string{"irc", "list"}, []string{"irc", "list"}, true},
		"nobody reports":  {trust.Default(), []string{"anna"}, []string{"irc"}, []string{"anna", "irc"}, false},
		"the other order": {trust.Default(), []string{"anna"}, []string{"irc"}, []string{"irc", "anna"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := desktest.New(t, c.model, 0)
			listed := func() (n int) {
				for letter := range 8 {
					for copy := range 10 {
						if s.DB.Judge(desktest.Letter(letter, 100+copy)).Listed {
							n++
						}
					}
				}
				return n
			}
			for letter := range 8 {
				for i, who := range c.reporter {
					s.MustReport(who, desktest.Letter(letter, 1+i))
				}
			}
			before := listed()
			for letter := range 8 {
				for i, who := range c.revokers {
					s.MustRevoke(who, desktest.Letter(letter, 11+i))
				}
			}
			revoked := listed()
			for _, who := range c.undone {
				undo(t, s, who, desktest.Noon.Add(-time.Hour))
			}
			after, want := listed(), revoked
			if c.isListed {
				want = before
			}
			if t.Logf("of 80 copies: reported %d, revoked %d, undone %d", before, revoked, after); before <= revoked || after != want {
				t.Errorf("want %d after the undo", want)
			}
		})
	}
}

// The undo of who revoked a mail of which a half was reported, here or elsewhere, lists that half again, and not the other.
func TestUndoListsNoOtherHalf(t *testing.T) {
	for i := range 20 {
		j := join(t, trust.Default())
		spam, news := desktest.Texts(1+i, 160, 0, 0, ""), desktest.Texts(101+i, 120, 0, 0, "")
		j.sites["a"].MustReport("anna", spam)
		j.exchange("a", "b")
		for _, s := range j.sites {
			s.MustRevoke("irc", desktest.Texts(1+i, 100, 101+i, 120, ""))
		}
		for _, s := range j.sites {
			undo(t, s, "irc", desktest.Noon.Add(-time.Hour))
		}
		j.exchange("a", "b")
		j.exchange("b", "a")
		for _, s := range j.sites {
			s.WantListed("the spam", spam, true)
			s.WantListed("the newsletter", news, false)
		}
	}
}

// One site undoes a revocation of a mail, or of one like it, that another site has revoked as well, before or after that.
// It stays revoked.
func TestUndoListsNothingThatAnotherSiteRevoked(t *testing.T) {
	news := desktest.Texts(1, 160, 0, 0, "")
	for name, revoked := range map[string]signature.Set{"the same": news, "like it": desktest.Texts(1, 100, 2, 120, "")} {
		for _, isFirst := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", first ", isFirst), func(t *testing.T) {
				j := join(t, trust.Default())
				a, b := j.sites["a"], j.sites["b"]
				a.MustReport("anna", news)
				if isFirst {
					a.MustRevoke("carl", revoked)
				}
				j.exchange("a", "b")
				b.MustRevoke("bob", news)
				j.exchange("b", "a")
				if !isFirst {
					a.MustRevoke("carl", revoked)
				}
				undo(t, a, "carl", desktest.Noon.Add(-time.Hour))
				j.exchange("a", "b")
				j.exchange("b", "a") // what bob could not revoke yet has waited for the listing
				for _, s := range j.sites {
					s.WantListed("revoked at the other site", news, false)
					s.WantListed("its near-duplicate", desktest.Texts(1, 150, 3, 10, ""), false)
				}
				a.MustReport("dora", news)
				a.WantListed("reported again", news, true)
			})
		}
	}
}

// The same for a file that another site has revoked with another mail, and if it has revoked the message twice.
func TestUndoListsNoPartThatAnotherSiteRevoked(t *testing.T) {
	j := join(t, trust.Default())
	with := func(set signature.Set) signature.Set { return withFile(set, "F") }
	a, b := j.sites["a"], j.sites["b"]
	spam, news, twice := desktest.Letter(1, 0), desktest.Letter(2, 0), desktest.Letter(3, 0)
	a.MustReport("anna", with(spam))
	for _, who := range []string{"anna", "dora"} {
		a.MustReport(who, twice)
		j.exchange("a", "b")
		b.MustRevoke("bob", with(news))
		b.MustRevoke("bob of "+who, twice)
		j.exchange("b", "a")
	}
	a.MustRevoke("irc", with(spam))
	a.MustRevoke("irc", twice)
	undo(t, a, "irc", desktest.Noon.Add(-time.Hour))
	j.exchange("a", "b")
	for _, s := range j.sites {
		s.WantListed("a newsletter with the file", with(news), false)
		s.WantListed("revoked twice", twice, false)
		s.WantListed("the spam", spam, true)
	}
}

// An undo lists the file of a mail whose text stays revoked. The link domain of that text stays revoked, too.
func TestUndoListsNoDomainOfARevokedText(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	text := desktest.Texts(1, 160, 0, 0, "http://shop.example/x")
	with := func(set signature.Set) signature.Set { return withFile(set, "F") }
	s.MustReport("anna", with(text))
	s.MustRevoke("carl", text)
	s.MustRevoke("irc", with(desktest.Letter(7, 0)))
	undo(t, s, "irc", desktest.Noon.Add(-time.Hour))
	s.WantListed("another mail with the file", with(desktest.Letter(9, 0)), true)
	s.WantListed("the text", text, false)
	if d := s.DB.ExplainDomains(text); len(d) != 1 || d[0].Reported == nil || !d[0].Reported.Revoked {
		t.Errorf("the domain is not revoked: %+v", d)
	}
}

// A report of which its reporter has taken back a part, such as a file, is listed again with the rest.
func TestUndoListsTheRestOfAReport(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	spam := desktest.Letter(1, 0)
	with := func(set signature.Set) signature.Set { return withFile(set, "F") }
	s.MustReport("anna", with(spam))
	s.MustRevoke("anna", with(desktest.Letter(2, 0)))
	s.MustRevoke("irc", spam)
	undo(t, s, "irc", desktest.Noon.Add(-time.Hour))
	s.WantListed("the spam", spam, true)
	s.WantListed("its near-duplicate", desktest.Letter(1, 3), true)
	s.WantListed("another mail with the file", with(desktest.Letter(9, 0)), false)
}

// The undo of all reporters of a message ends its near-duplicates as well, and that of one who reported copies with a file of
// their own each.
func TestUndoOfAllReporters(t *testing.T) {
	for campaign := range 10 {
		s := desktest.New(t, trust.Default(), 0)
		for _, who := range []string{"anna", "bert"} {
			s.MustReport(who, desktest.Letter(campaign, 0))
		}
		for copy := range 3 {
			s.MustReport("carl", withFile(desktest.Letter(100+campaign, copy), fmt.Sprint("file ", copy)))
		}
		for _, who := range []string{"anna", "bert", "carl"} {
			undo(t, s, who, desktest.Noon.Add(-time.Hour))
		}
		for copy := range 5 {
			s.WantListed("a copy of what two reported", desktest.Letter(campaign, copy), false)
			s.WantListed("a copy of what had a file", desktest.Letter(100+campaign, copy), false)
		}
	}
}

// The undo of a reporter ends what near-duplicates kept listed while they stood.
func TestUndoOfManyNearDuplicates(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	for copy := range 8 {
		s.MustReport("anna", desktest.Letter(1, copy))
	}
	undo(t, s, "anna", desktest.Noon.Add(-time.Hour))
	for copy := range 8 {
		s.WantListed("a copy", desktest.Letter(1, copy), false)
	}
}
