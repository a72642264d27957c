package desk_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// TestHits: the answer to a report counts the unreported mail that it hits, and the report is
// held from the bound on. Those of administrators are not, and of traps only if they hit mail of known senders.
func TestHits(t *testing.T) {
	same := func(s *desktest.Stage, n int) {
		for range n {
			s.Deliver(1, 1, desktest.Letter(1, 0))
		}
	}
	anna := desk.Report{Reporter: "anna"}
	tests := []struct {
		name    string
		deliver func(s *desktest.Stage)
		report  desk.Report
		mails   uint64
		senders uint64
		held    bool
	}{
		{"nothing was seen", func(*desktest.Stage) {}, anna, 0, 0, false},
		{"below the bound", func(s *desktest.Stage) { same(s, 19) }, anna, 19, 1, false},
		{"at the bound", func(s *desktest.Stage) { same(s, 20) }, anna, 20, 1, true},
		{"recipients of one mail", func(s *desktest.Stage) { s.Deliver(1, 30, desktest.Letter(1, 0)) }, anna, 30, 1, true},
		{"near-duplicates of many senders", func(s *desktest.Stage) {
			for i := range 24 {
				s.Deliver(uint64(i%12), 1, desktest.Letter(1, i))
			}
		}, anna, 24, 12, true},
		{"other mail", func(s *desktest.Stage) { s.Deliver(1, 30, desktest.Letter(2, 0)) }, anna, 0, 0, false},
		{"after a restart", func(s *desktest.Stage) {
			s.Deliver(1, 30, desktest.Letter(1, 0))
			s.Restart()
		}, anna, 30, 1, true},
		{"three days ago", func(s *desktest.Stage) {
			s.Deliver(1, 30, desktest.Letter(1, 0))
			s.Clock.Add(int64(3 * 24 * time.Hour / time.Second))
		}, anna, 0, 0, false},
		{"a trap", func(s *desktest.Stage) { same(s, 30) }, desk.Report{Reporter: "trap:one", Trap: true}, 30, 1, false},
		{"a trap, of a known sender's mail", func(s *desktest.Stage) { s.DeliverKnown(1, 30, desktest.Letter(1, 0)) }, desk.Report{Reporter: "trap:one", Trap: true}, 30, 1, true},
		{"a trap, of a few mails of a known sender", func(s *desktest.Stage) { same(s, 30); s.DeliverKnown(2, 19, desktest.Letter(1, 0)) }, desk.Report{Reporter: "trap:one", Trap: true}, 49, 2, false},
		{"an archive of a trap", func(s *desktest.Stage) { same(s, 30) }, desk.Report{Reporter: "Trap:one", Trusted: true}, 30, 1, false},
		{"an administrator", func(s *desktest.Stage) { same(s, 30) }, desk.Report{Reporter: "root", Trusted: true, Administers: true}, 30, 1, false},
		{"an administrator for another", func(s *desktest.Stage) { same(s, 30) }, desk.Report{Reporter: "anna", Trusted: true}, 30, 1, true},
		{"what another reported before", func(s *desktest.Stage) {
			same(s, 30)
			s.MustReport("bob", desktest.Letter(1, 0))
		}, anna, 0, 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := desktest.OpenHolding(t, trust.Default(), 20)
			test.deliver(s)
			test.report.Set = desktest.Letter(1, 0)
			o, err := s.Report(test.report)
			testenv.Check(t, err)
			if o.Like.Mails != test.mails || o.Like.Senders != test.senders || o.Held != test.held || o.Evidence.Listed == test.held {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestHeldReports: a newsletter to the whole staff that one person marks is not listed. The answer
// and the list of contested messages say why; a second reporter or an administrator lists it.
func TestHeldReports(t *testing.T) {
	newsletter := func(copy int) signature.Set { return desktest.Letter(1, copy) }
	tests := []struct {
		name   string
		then   func(t *testing.T, s *desktest.Stage)
		listed bool
		held   int // messages, at the end
	}{
		{"nobody else", func(*testing.T, *desktest.Stage) {}, false, 1},
		{"the same person again", func(_ *testing.T, s *desktest.Stage) { s.MustReport("anna", newsletter(0)) }, false, 1},
		{"a restart", func(_ *testing.T, s *desktest.Stage) { s.Restart() }, false, 1},
		{"a second reporter", func(_ *testing.T, s *desktest.Stage) { s.MustReport("bob", newsletter(0)) }, true, 0},
		{"a second reporter of another copy", func(_ *testing.T, s *desktest.Stage) { s.MustReport("bob", newsletter(3)) }, true, 0},
		{"a restart and a second reporter", func(_ *testing.T, s *desktest.Stage) {
			s.Restart()
			s.MustReport("bob", newsletter(0))
		}, true, 0},
		{"released", func(t *testing.T, s *desktest.Stage) { settle(t, s, desk.SettleSpam) }, true, 0},
		{"refused", func(t *testing.T, s *desktest.Stage) { settle(t, s, desk.SettleWanted) }, false, 0},
		{"refused, and a second reporter", func(t *testing.T, s *desktest.Stage) {
			settle(t, s, desk.SettleWanted)
			s.MustReport("bob", newsletter(0))
		}, false, 0},
		{"taken back", func(_ *testing.T, s *desktest.Stage) { s.MustRevoke("anna", newsletter(0)) }, false, 0},
		{"taken back, and reported again", func(_ *testing.T, s *desktest.Stage) {
			s.MustRevoke("anna", newsletter(0))
			s.MustReport("anna", newsletter(0))
		}, false, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := desktest.OpenHolding(t, trust.Default(), 20)
			for i := range 37 {
				s.Deliver(7, 1, newsletter(i))
			}
			o := s.MustReport("anna", newsletter(0))
			if !o.Held || o.Evidence.Listed || !o.RevokedUntil.IsZero() || !strings.HasPrefix(o.Holds, "It is like 37 mails of 1 sender that nobody reported, so the report is held") {
				t.Errorf("the first report: %+v", o)
			}
			test.then(t, s)
			s.WantListed("a copy", newsletter(5), test.listed)
			s.WantListed("the reported copy", newsletter(0), test.listed)
			c, err := s.Contested(api.ContestedRequest{})
			testenv.Check(t, err)
			held := 0
			for _, m := range c.Messages {
				if m.Held && m.LikeMails == 37 && m.LikeSenders == 1 && !m.Listed {
					held++
				}
			}
			if held != test.held {
				t.Errorf("%d are held: %+v", held, c.Messages)
			}
			campaigns, err := s.ContestedCampaigns()
			if err != nil || len(campaigns) > 0 && campaigns[0].Held != (test.held > 0) || len(campaigns) == 0 && test.held > 0 {
				t.Errorf("campaigns: %+v, %v", campaigns, err)
			}
		})
	}
}

// settle settles the only message that is held or contested, by the number that the list shows.
func settle(t *testing.T, s *desktest.Stage, as string) {
	t.Helper()
	c, err := s.Contested(api.ContestedRequest{})
	if err != nil || len(c.Messages) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	set, err := s.SetOf(c.Messages[0].Report)
	testenv.Check(t, err)
	if _, err := s.Settle(desk.Report{Set: set}, as, desk.Author{Name: "root"}); err != nil {
		t.Fatal(err)
	}
}

// A reporter who mixes a spam with a newsletter and takes that back does not hold what others report:
// the next first report is held only if it hits much mail itself.
func TestHoldOfAnotherMessage(t *testing.T) {
	spam, newsletter := desktest.Letter(1, 0), desktest.Letter(2, 0)
	mixed := spam
	mixed.Sketches = append(slices.Clone(spam.Sketches), newsletter.Sketches...)
	s := desktest.OpenHolding(t, trust.Default(), 20)
	s.Deliver(1, 1, spam)
	s.Deliver(2, 30, newsletter)
	if o := s.MustReport("mallory", mixed); !o.Held {
		t.Fatalf("%+v", o)
	}
	s.MustRevoke("mallory", mixed)
	if o := s.MustReport("anna", spam); o.Held {
		t.Errorf("%+v", o)
	}
	s.WantListed("the spam", spam, true)
	s.WantListed("a near-duplicate of it", desktest.Letter(1, 3), true)
	s.WantListed("the newsletter", newsletter, false)
}

// TestHoldEndsWithOthers: what one reporter mixed with a newsletter is held, and somebody else reports the spam
// in it, which hits little. It stays listed when the report of the first one is undone. A second report of the
// newsletter does not free it.
func TestHoldEndsWithOthers(t *testing.T) {
	spam, newsletter := desktest.Letter(2, 0), desktest.Letter(1, 0)
	mixed := spam
	mixed.Sketches = append(slices.Clone(spam.Sketches), newsletter.Sketches...)
	for _, test := range []struct {
		name          string
		first, second signature.Set
		mail          signature.Set // that is listed by both
		stays         bool
	}{
		{"a spam", mixed, spam, spam, true},
		{"a near-duplicate of it", mixed, spam, desktest.Letter(2, 3), true},
		{"the newsletter", newsletter, newsletter, newsletter, false},
		{"a copy of the newsletter", newsletter, desktest.Letter(1, 3), newsletter, false},
	} {
		s := desktest.OpenHolding(t, trust.Default(), 20)
		s.Deliver(1, 1, spam)
		s.Deliver(2, 30, newsletter)
		s.MustReport("mallory", test.first)
		s.WantListed(test.name+", held", test.mail, false)
		s.MustReport("anna", test.second)
		s.WantListed(test.name, test.mail, true)
		_, err := s.Undo(api.UndoRequest{By: "mallory", Since: desktest.Noon.Add(-time.Hour)}, desk.Author{Name: "root"})
		testenv.Check(t, err)
		s.WantListed(test.name+", undone", test.mail, test.stays)
	}
}

// TestHoldIsNotShared is the attack "hold": one reporter reports a part that only he has, or that a
// newsletter has in common with other mail, takes that back, and reports the newsletter with it. It is
// held like any other, also if only its near-duplicates were to be listed.
func TestHoldIsNotShared(t *testing.T) {
	part := signature.Signature{Kind: signature.KindAttachment, Digest: signature.Digest{7}}
	for name, withPart := range map[string]func(newsletter signature.Set) signature.Set{
		"a file": func(n signature.Set) signature.Set {
			n.Signatures = append(slices.Clone(n.Signatures), part)
			return n
		},
		"near-duplicates": func(n signature.Set) signature.Set {
			n.Signatures = []signature.Signature{part}
			return n
		},
	} {
		s := desktest.OpenHolding(t, trust.Default(), 20)
		newsletter := desktest.Letter(1, 0)
		s.Deliver(1, 30, newsletter)
		alone := signature.Set{Signatures: []signature.Signature{part}}
		s.MustReport("mallory", alone)
		s.MustRevoke("mallory", alone)
		if o := s.MustReport("mallory", withPart(newsletter)); !o.Held {
			t.Errorf("%s: not held: %+v", name, o)
		}
		s.WantListed("the newsletter", newsletter, false)
		s.WantListed("a near-duplicate", desktest.Letter(1, 3), false)
	}
}

// TestHoldOfParts is the attack "hold" by invented mails that have a quarter of a newsletter's features each. None
// hits the newsletter. One reporter reports and revokes them, so that each feature was revoked without being
// held, and reports the newsletter. It is held like any other, because a contest takes somebody else's
// revocation, or the report is made without its sketch.
func TestHoldOfParts(t *testing.T) {
	s := desktest.OpenHolding(t, trust.Default(), 20)
	newsletter := desktest.Letter(1, 0)
	s.Deliver(1, 30, newsletter)
	body := func(n int) []signature.Signature {
		return []signature.Signature{{Kind: signature.KindBody, Digest: signature.Digest{byte(n + 1)}}}
	}
	random := rand.New(rand.NewPCG(1, 1))
	for n := range 4 {
		sketches := slices.Clone(newsletter.Sketches)
		for i, sketch := range sketches {
			sketches[i].Keys = slices.Clone(sketch.Keys)
			for j := range sketch.Keys {
				if j%4 != n {
					sketches[i].Keys[j].Hash = random.Uint64()
				}
			}
		}
		part := signature.Set{Signatures: body(n), Sketches: sketches}
		if o := s.MustReport("mallory", part); o.Held || !o.Evidence.Listed {
			t.Fatalf("%+v", o)
		}
		s.MustRevoke("mallory", part)
	}
	s.MustReport("mallory", signature.Set{Signatures: body(4), Sketches: newsletter.Sketches})
	s.WantListed("the newsletter", newsletter, false)
	s.WantListed("a near-duplicate", desktest.Letter(1, 3), false)
}

// TestHoldEndsWithTrap: the first report of a campaign is held, and that of a trap or an administrator lists it. It
// stays listed when the first one is undone, and where two are needed, when its reporter revokes it. The
// first report waits again if it is the one that is left.
func TestHoldEndsWithTrap(t *testing.T) {
	spam := desktest.Letter(1, 0)
	trap := desk.Report{Reporter: "trap:one", Trap: true, Set: spam}
	root := desk.Report{Reporter: "root", Trusted: true, Administers: true, Set: spam}
	undo := func(who string) func(s *desktest.Stage) {
		return func(s *desktest.Stage) {
			_, err := s.Undo(api.UndoRequest{By: who, Since: desktest.Noon.Add(-time.Hour)}, desk.Author{Name: "root"})
			testenv.Check(t, err)
		}
	}
	again := func(s *desktest.Stage) {
		s.Clock.Add(int64(8 * 24 * time.Hour / time.Second)) // no such mail comes any longer
		s.MustReport("anna", spam)
	}
	for _, test := range []struct {
		name   string
		model  trust.Model
		second desk.Report
		then   []func(s *desktest.Stage)
		stays  bool
	}{
		{"anna is undone, a trap", trust.Default(), trap, []func(s *desktest.Stage){undo("anna")}, true},
		{"anna is undone, root", trust.Default(), root, []func(s *desktest.Stage){undo("anna")}, true},
		{"anna revokes it", desktest.TwoNeeded, trap, []func(s *desktest.Stage){func(s *desktest.Stage) { s.MustRevoke("anna", spam) }}, true},
		{"the trap is undone", trust.Default(), trap, []func(s *desktest.Stage){undo("trap:one")}, false},
		{"anna reports it again, and the trap is undone", trust.Default(), trap, []func(s *desktest.Stage){again, undo("trap:one")}, false},
	} {
		s := desktest.OpenHolding(t, test.model, 20)
		s.Deliver(1, 30, spam)
		s.MustReport("anna", spam)
		s.WantListed(test.name+", held", spam, false)
		_, err := s.Report(test.second)
		testenv.Check(t, err)
		s.WantListed(test.name+", listed", spam, true)
		for _, then := range test.then {
			then(s)
		}
		s.WantListed(test.name, spam, test.stays)
	}
}

// TestHoldOfContest: a message that was listed and revoked before it was much mail is not held, because
// the rules of a contest decide it.
func TestHoldOfContest(t *testing.T) {
	s := desktest.OpenHolding(t, trust.Default(), 20)
	spam := desktest.Letter(1, 0)
	s.MustReport("anna", spam)
	s.MustRevoke("mallory", spam)
	s.Deliver(1, 30, spam)
	if o := s.MustReport("anna", spam); o.Held {
		t.Errorf("%+v", o)
	}
}

// TestHoldOfMixedReports is the attack "hold" by parts that are listed: a digest that the reporter has
// invented, and those of a spam that somebody else reported. The rest of the report is held like any other,
// and what the others reported stays listed.
func TestHoldOfMixedReports(t *testing.T) {
	newsletter, spam := desktest.Letter(1, 0), desktest.Letter(2, 0)
	invented := signature.Set{Signatures: []signature.Signature{{Kind: signature.KindAttachment, Digest: signature.Digest{7}}}}
	with := func(signatures []signature.Signature, sketches []signature.Sketch) signature.Set {
		return signature.Set{Signatures: signatures, Sketches: sketches}
	}
	of := func(set signature.Set, kind signature.Kind) []signature.Signature {
		i := slices.IndexFunc(set.Signatures, func(s signature.Signature) bool { return s.Kind == kind })
		return set.Signatures[i : i+1]
	}
	for name, mixed := range map[string]signature.Set{
		"an invented file": with(slices.Concat(newsletter.Signatures, invented.Signatures), newsletter.Sketches),
		"another's body":   with(slices.Concat(of(spam, signature.KindBody), of(newsletter, signature.KindText)), newsletter.Sketches),
		"another's text":   with(spam.Signatures, newsletter.Sketches),
		"another's sketch": with(newsletter.Signatures, spam.Sketches),
	} {
		s := desktest.OpenHolding(t, trust.Default(), 20)
		s.Deliver(1, 30, newsletter)
		s.MustReport("bob", spam)
		s.MustReport("mallory", invented)
		s.MustReport("mallory", mixed)
		s.WantListed(name+": the newsletter", newsletter, false)
		s.WantListed(name+": a near-duplicate", desktest.Letter(1, 3), false)
		_, err := s.Undo(api.UndoRequest{By: "mallory", Since: desktest.Noon.Add(-time.Hour)}, desk.Author{Name: "root"})
		testenv.Check(t, err)
		s.WantListed(name+": the spam", spam, true)
		s.WantListed(name+": a near-duplicate of the spam", desktest.Letter(2, 3), true)
	}
}

// TestHoldWithoutMemory: after a restart, only the filters know how often a newsletter arrived. They hold a report
// of it also if it is mixed with something that is listed.
func TestHoldWithoutMemory(t *testing.T) {
	newsletter, spam := desktest.Letter(1, 0), desktest.Letter(2, 0)
	invented := signature.Signature{Kind: signature.KindAttachment, Digest: signature.Digest{7}}
	other := signature.Signature{Kind: signature.KindText, Digest: signature.Digest{7}}
	for name, more := range map[string][]signature.Signature{
		"nothing": nil, "an invented file": {invented}, "an invented text": {other}, "another's body and text": spam.Signatures,
	} {
		s := desktest.OpenHolding(t, trust.Default(), 20)
		testenv.Check(t, s.DB.Count(newsletter, 30))
		s.MustReport("bob", spam)
		s.MustReport("mallory", signature.Set{Signatures: []signature.Signature{invented, other}})
		mixed := newsletter
		mixed.Signatures = slices.Concat(more, newsletter.Signatures)
		s.MustReport("mallory", mixed)
		s.WantListed(name+": the newsletter", newsletter, false)
	}
}

// TestHitsOfParts: the answer counts the mail that a report would list also if the reported text is a part
// of that mail, or contains it, and less of it beside a link to the same domain. So nobody lists much mail alone
// by a paragraph of it.
func TestHitsOfParts(t *testing.T) {
	const link = " https://letters.example/read"
	for _, test := range []struct {
		of, own int
		link    string
	}{
		{160, 80, ""}, {160, 160, ""}, {160, 320, ""}, {80, 0, ""}, {40, 0, ""}, {25, 0, ""}, {80, 80, ""}, {40, 40, ""}, {40, 120, ""},
		{160, 240, link}, {160, 300, link}, {80, 160, link}, {50, 110, link}, {40, 120, link}, {30, 90, link}, {40, 400, link},
	} {
		reported, listed := desktest.Texts(1, test.of, 7, test.own, test.link), uint64(0)
		open, holding := desktest.New(t, trust.Default(), 0), desktest.OpenHolding(t, trust.Default(), 20)
		open.MustReport("mallory", reported)
		for i := range 30 {
			letter := signature.Compute(signature.Parse([]byte("Subject: x\n\n" + desktest.LetterText(1, i) + test.link + "\n"))) // of 160 words
			holding.Deliver(1, 1, letter)
			if open.DB.Judge(letter).Listed {
				listed++
			}
		}
		o := holding.MustReport("mallory", reported)
		if more := o.Like.Mails - listed; more > 1 || more > 0 && test.link == "" || o.Held != (listed >= 20) { // shares are estimates
			t.Errorf("%d words of the letter and %d others, %q: listed %d, but %+v", test.of, test.own, test.link, listed, o)
		}
	}
}

// TestHitsOfPictures: the answer counts the mail with a picture that a report would list, of which it need not have
// all anchors: a variation of the picture, and a sketch of the same with an anchor of its own.
func TestHitsOfPictures(t *testing.T) {
	read := func(name string) signature.Set {
		raw, err := os.ReadFile("../../signature/testdata/" + name)
		testenv.Check(t, err)
		return signature.Compute(signature.Parse(raw))
	}
	picture, forged := read("70-image.eml"), signature.Set{Signatures: []signature.Signature{{Kind: signature.KindBody}}}
	for _, sketch := range picture.Sketches {
		sketch.Anchors = slices.Clone(sketch.Anchors)
		sketch.Anchors[0].Hash++
		forged.Sketches = append(forged.Sketches, sketch)
	}
	for name, reported := range map[string]signature.Set{"a variation": read("71-image-varied.eml"), "another anchor": forged} {
		s := desktest.OpenHolding(t, trust.Default(), 20)
		s.Deliver(1, 30, picture)
		if o := s.MustReport("mallory", reported); o.Like.Mails != 30 || !o.Held {
			t.Errorf("%s: %+v", name, o)
		}
		s.WantListed(name+": the picture", picture, false)
	}
}

// TestCommonTextIsNoHit: a phish with the footer of a mailing service is not held because of the mail of its
// other customers, which it would not list.
func TestCommonTextIsNoHit(t *testing.T) {
	s := desktest.OpenHolding(t, trust.Default(), 20)
	mail := func(n, words int) signature.Set { return desktest.Texts(100+n, words, 50, 60, "") }
	for n := range 16 {
		sender := bloomdb.Sender{From: fmt.Sprintf("shop%d.example", n%4)}
		s.DB.Learn(mail(n, 30), sender, s.DB.JudgeFrom(mail(n, 30), sender), s.DB.Now())
		s.Clock.Add(int64(2 * 24 * time.Hour / time.Second))
	}
	for n := range 30 {
		s.Deliver(uint64(n), 1, mail(20+n, 30))
	}
	if o := s.MustReport("anna", mail(60, 20)); o.Like.Mails != 0 || !o.Evidence.Listed {
		t.Errorf("%+v", o)
	}
	s.WantListed("other mail with the footer", mail(20, 30), false)
}
