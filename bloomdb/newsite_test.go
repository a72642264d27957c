package bloomdb_test

import (
	"fmt"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// letterOf returns a message of 100 words, so many of them those of the reported phish of these tests.
func letterOf(n, shared int) signature.Set {
	return wordy(n, append(words(0, shared), words(1000*(n+9), 100-shared)...)...)
}

// The sites of the tests: each has reported the phish in the end.
var sitesOfAges = map[string]func(t *testing.T) mailSite{
	"new": func(t *testing.T) mailSite { return openMailSite(t, nil) },
	"five days old": func(t *testing.T) mailSite {
		s := openMailSite(t, nil)
		for n := range 20 {
			s.receive(letterOf(n, 0), fmt.Sprintf("shop%d.example", n%4))
			s.clock.Add(day / 4)
		}
		return s
	},
	"four weeks old, nothing proven": func(t *testing.T) mailSite {
		s := openMailSite(t, nil)
		for n := range 28 {
			s.receive(letterOf(n, 0), "")
			s.clock.Add(day)
		}
		return s
	},
	"four weeks old": func(t *testing.T) mailSite {
		s := openMailSite(t, nil)
		s.receiveForWeeks(func(n int) signature.Set { return letterOf(n, 0) })
		return s
	},
	"fed by an archive": func(t *testing.T) mailSite {
		s := openMailSite(t, nil)
		for n := range 6 {
			if _, err := s.LearnArchived(letterOf(n, 0), fmt.Sprintf("shop%d.example", n), s.Now().AddDate(0, 0, -14-n)); err != nil {
				t.Fatal(err)
			}
		}
		return s
	},
	"learning off": func(t *testing.T) mailSite {
		return openMailSite(t, func(o *bloomdb.Options) { o.Reports.NoCommonness = true })
	},
}

// While a site is new, near matches list mail of a proved domain, of which nothing was reported, only
// with nearly all of what was reported. Exact matches list it, and near ones all other mail.
func TestNewSite(t *testing.T) {
	const sender, thief = "letters.example", "thief.example"
	for name, open := range sitesOfAges {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			isNew := name == "new" || name == "five days old" || name == "four weeks old, nothing proven"
			if got := s.IsNewSite(); got != isNew {
				t.Fatalf("the site is new: %v", got)
			}
			spam := letterOf(400, 0)
			s.receive(spam, thief)
			mustReportSet(t, s.DB, spam)
			mustReportSet(t, s.DB, letterOf(500, 100))
			for _, c := range []struct {
				shared   int
				from     string
				isSpared bool
			}{
				{100, sender, false}, // but for its first words, which differ in each message
				{60, "", false}, {60, sender, isNew}, {60, thief, false},
				{30, sender, false}, // too little anywhere
			} {
				e := s.JudgeFrom(letterOf(600, c.shared), bloomdb.Sender{From: c.from})
				if wants := c.shared > 30 && !c.isSpared; e.Listed != wants || e.IsNewSite != c.isSpared || e.IsSpared() != c.isSpared || (e.Sender == sender) != c.isSpared {
					t.Errorf("%d %% shared, from %q: listed %v, spared %v by %q, new site %v", c.shared, c.from, e.Listed, e.IsSpared(), e.Sender, e.IsNewSite)
				}
			}
			if !s.JudgeFrom(letterOf(500, 100), bloomdb.Sender{From: sender}).Listed {
				t.Error("an exact copy is not listed")
			}
		})
	}
}

// A weak match and a link domain list no mail of a proved domain while the site is new.
func TestNewSiteDoubtsLinkDomains(t *testing.T) {
	linked := func(n, shared int) signature.Set {
		set := letterOf(n, shared)
		set.Domains = []string{"clicks.example"}
		return set
	}
	for _, name := range []string{"new", "four weeks old"} {
		s := sitesOfAges[name](t)
		mustReportSet(t, s.DB, linked(500, 100))
		mail := linked(600, 30)
		weak := s.Judge(mail)
		if len(weak.Matches) != 2 || !weak.Listed {
			t.Fatalf("%s: without a proof: %+v", name, weak)
		}
		if e := s.JudgeFrom(mail, bloomdb.Sender{From: "letters.example"}); e.Listed != (name != "new") || e.IsNewSite != (name == "new") {
			t.Errorf("%s: listed %v, spared because it is new: %v", name, e.Listed, e.IsNewSite)
		}
	}
}

// Mail that a new site spares is learned: its footer is common once the site is not new any more, so
// that a shop that has never written before is not listed either.
func TestNewSiteLearnsWhatItSpares(t *testing.T) {
	s := openMailSite(t, nil)
	letter := func(n int) signature.Set { return letterOf(n, 60) }
	mustReportSet(t, s.DB, letterOf(500, 70))
	spared := 0
	s.receiveForWeeks(func(n int) signature.Set {
		if s.JudgeFrom(letter(n), bloomdb.Sender{From: "another.example"}).IsNewSite {
			spared++
		}
		return letter(n)
	})
	if s.IsNewSite() || spared == 0 {
		t.Fatalf("new after a month: %v; %d letters spared", s.IsNewSite(), spared)
	}
	if e := s.JudgeFrom(letter(700), bloomdb.Sender{From: "another.example"}); e.Listed {
		t.Errorf("a letter of a shop that has not written before: %+v", e.Matches)
	}
}

// A spammer with a domain of his own gains what his variations have less than nearly all of a
// report, and only until one of his mails is reported, listed or not.
func TestReportEndsSparingAtNewSite(t *testing.T) {
	const thief = "thief.example"
	for _, shared := range []int{60, 100} {
		s := openMailSite(t, nil)
		mustReportSet(t, s.DB, letterOf(500, 100))
		mail := letterOf(600, shared)
		if e := s.receive(mail, thief); e.Listed != (shared == 100) {
			t.Fatalf("%d %% shared: listed %v", shared, e.Listed)
		}
		mustReportSet(t, s.DB, mail)
		if !s.receive(letterOf(700, 60), thief).Listed {
			t.Errorf("%d %% shared: another mail of a domain whose mail was reported is spared", shared)
		}
	}
}

// A wrong match at a new site can be revoked, as it lists mail of others.
func TestSparedAtNewSiteStands(t *testing.T) {
	s := openMailSite(t, nil)
	mustReportSet(t, s.DB, letterOf(500, 100))
	mail := letterOf(600, 60)
	if !s.JudgeFrom(mail, bloomdb.Sender{From: "letters.example"}).IsNewSite || !s.Stands(mail) {
		t.Fatal("a letter that is spared is not one that a revocation would help")
	}
	testenv.Check(t, s.Revoke(mail))
	if s.Judge(mail).Listed {
		t.Error("it is listed without a proof after the revocation")
	}
}

// A site that is no longer new is not new after a restart, either.
func TestSiteIsNotNewAfterRestart(t *testing.T) {
	o, c := bloomdbtest.Options(t.TempDir(), "a"), bloomdbtest.NewClock()
	o.Now = c.Now
	s := mailSite{bloomdbtest.Open(t, o), c}
	s.receiveForWeeks(func(n int) signature.Set { return letterOf(n, 0) })
	testenv.Check(t, s.Close())
	if db := bloomdbtest.Open(t, o); db.IsNewSite() {
		t.Error("the site is new again")
	}
}

// A campaign of proved domains that varies a reported spam is spared in part while the site is new, and
// learned. Reported each day, it does not become common.
func TestReportedCampaignAtNewSite(t *testing.T) {
	s := openMailSite(t, nil)
	mustReportSet(t, s.DB, letterOf(500, 100))
	spared := 0
	for n := range 35 * 4 {
		mail := letterOf(600+n, 60)
		if s.receive(mail, fmt.Sprintf("thief%d.example", n%64)).IsNewSite {
			spared++
		}
		if n%4 == 3 {
			mustReportSet(t, s.DB, mail)
			s.clock.Add(day)
		}
	}
	if spared == 0 || !s.Judge(letterOf(900, 60)).Listed {
		t.Errorf("%d mails of the campaign were spared; a variation is listed after it: %v", spared, s.Judge(letterOf(900, 60)).Listed)
	}
}
