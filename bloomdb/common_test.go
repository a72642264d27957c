package bloomdb_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// mailSite is a database whose clock the test sets, and which sees mail as the milter does.
type mailSite struct {
	*bloomdb.DB
	clock *bloomdbtest.Clock
}

func openMailSite(t *testing.T, change func(*bloomdb.Options)) mailSite {
	t.Helper()
	o, c := bloomdbtest.Options(t.TempDir(), "a"), bloomdbtest.NewClock()
	o.Now = c.Now
	if change != nil {
		change(&o)
	}
	return mailSite{bloomdbtest.Open(t, o), c}
}

// receive judges a message and learns it.
func (s mailSite) receive(set signature.Set, from string) bloomdb.Evidence {
	sender := bloomdb.Sender{From: from}
	e := s.JudgeFrom(set, sender)
	s.Learn(set, sender, e, s.Now())
	return e
}

// week passes, and what has expired by then is dropped.
func (s mailSite) week() {
	s.clock.Add(7 * day)
	for range layout.KeepExpired {
		s.Maintain()
	}
}

// receiveForWeeks receives mail of four shops, a piece every second day of a month: the site knows
// the shops at its end, and what all their mail contains is common.
func (s mailSite) receiveForWeeks(mail func(n int) signature.Set) {
	for n := range 16 {
		s.receive(mail(n), fmt.Sprintf("shop%d.example", n%4))
		s.clock.Add(2 * day)
	}
}

const day = 24 * time.Hour

// A phish with the footer of a mailing service does not list the mail of that service's customers.
func TestCommonFooterIsNoEvidence(t *testing.T) {
	for _, isOff := range []bool{false, true} {
		s := openMailSite(t, func(o *bloomdb.Options) { o.Reports.NoCommonness = isOff })
		footer := words(500, 60)
		s.receiveForWeeks(func(n int) signature.Set { return wordy(n, append(words(1000*(n+2), 30), footer...)...) })
		mustReportSet(t, s.DB, wordy(100, append(words(100_000, 10), footer...)...))
		mail := wordy(200, append(words(200_000, 30), footer...)...)
		if got := s.Judge(mail).Listed; got != isOff {
			t.Errorf("commonness off %v: innocent mail with the footer is listed: %v", isOff, got)
		}
		if !s.Judge(wordy(100)).Listed {
			t.Error("the phish itself is not listed")
		}
	}
}

// A report of an imitation does not list the mail of the company that it imitates.
func TestImitationDoesNotListTheImitated(t *testing.T) {
	const company = "accounts.example"
	for _, copied := range []int{10, 30, 60, 90} {
		s := openMailSite(t, nil)
		for i := range 3 {
			s.receive(wordy(i, words(0, 100)...), company)
			s.clock.Add(day)
		}
		phish := wordy(100, append(words(0, copied), words(5000, 100-copied)...)...)
		mustReportSet(t, s.DB, phish)
		notice := wordy(200, append(words(0, 95), words(9000, 5)...)...)
		if e := s.receive(notice, company); e.Listed {
			t.Errorf("%d %% copied: the company's notice is listed: %+v", copied, e.Matches)
		} else if near := s.Judge(notice).Listed; near != (e.Sender == company) {
			t.Errorf("%d %% copied: without proof listed %v, spared by sender %q", copied, near, e.Sender)
		} else if copied == 90 && !near {
			t.Error("90 % copied: a notice without proof is not listed")
		}
		if near := wordy(101, append(words(0, copied), words(5001, 100-copied)...)...); !s.JudgeFrom(near, bloomdb.Sender{From: "phish.example"}).Listed {
			t.Errorf("%d %% copied: a variation of the phish is not listed", copied)
		}
		mustReportSet(t, s.DB, notice)
		if e := s.receive(notice, company); !e.Listed {
			t.Errorf("%d %% copied: a notice that was reported itself is not listed", copied)
		}
	}
}

// A company whose notices resemble a reported phish stays known by the notices that are spared, longer
// than what was learned before is kept. A report of such a notice ends it.
func TestSparedSenderStaysKnown(t *testing.T) {
	const company = "accounts.example"
	s := openMailSite(t, nil)
	notice := func(n int) signature.Set { return wordy(n, append(words(0, 95), words(9000+100*n, 5)...)...) }
	for n := range 3 {
		s.receive(notice(n), company)
		s.week()
	}
	for n := range 9 {
		mustReportSet(t, s.DB, wordy(100+n, append(words(0, 60), words(50_000+1000*n, 40)...)...))
		if e := s.receive(notice(3+n), company); e.Sender != company {
			t.Fatalf("notice %d: spared by sender %q, listed %v", n, e.Sender, e.Listed)
		}
		s.week()
	}
	last := notice(20)
	s.receive(last, company)
	mustReportSet(t, s.DB, last)
	if !s.receive(notice(21), company).Listed {
		t.Error("a notice is spared although the one before it was reported")
	}
}

// A flood of one campaign does not make it common before somebody reports it: not in two weeks, and
// not from domains that were new.
func TestFloodIsNotCommon(t *testing.T) {
	s := openMailSite(t, nil)
	for i := range 1400 {
		if i > 0 && i%100 == 0 {
			s.clock.Add(day)
		}
		s.receive(wordy(i, words(0, 100)...), fmt.Sprintf("host%d.example", i%700))
	}
	mustReportSet(t, s.DB, wordy(0, words(0, 100)...))
	if !s.Judge(wordy(5000, append(words(0, 95), words(9000, 5)...)...)).Listed {
		t.Error("a variation is not listed after a report")
	}
}

// A campaign of many hosts that prove nothing is not learned, however long nobody reports it.
func TestMailWithoutProofIsNotLearned(t *testing.T) {
	s := openMailSite(t, nil)
	for n := range 100 {
		s.receive(wordy(n, append(words(0, 95), words(1000*n, 5)...)...), "")
		s.clock.Add(day / 4)
	}
	mustReportSet(t, s.DB, wordy(1, words(0, 100)...))
	if !s.Judge(wordy(5000, append(words(0, 95), words(900_000, 5)...)...)).Listed {
		t.Error("a variation is not listed after a report")
	}
}

// A link domain of many senders is common, however often it is reported.
func TestClickHostIsCommon(t *testing.T) {
	s := openMailSite(t, nil)
	s.receiveForWeeks(func(n int) signature.Set { return linking(fmt.Sprint("news ", n), "clicks.example") })
	reportCampaigns(t, s.DB, "phish", 20, "clicks.example", "phish.example")
	if s.Judge(linking("newsletter", "clicks.example")).Listed {
		t.Error("a newsletter is listed by the host that counts its clicks")
	}
	if !s.Judge(linking("new", "phish.example")).Listed {
		t.Error("the phish's own domain does not list")
	}
}

// Nothing that is learned leaves the site.
func TestCommonnessStaysHere(t *testing.T) {
	a, o := openMailSite(t, nil), bloomdbtest.Options(t.TempDir(), "b")
	o.Now = a.clock.Now
	b := bloomdbtest.Open(t, o)
	a.receiveForWeeks(func(n int) signature.Set { return wordy(n, words(0, 100)...) })
	mustReportSet(t, a.DB, wordy(50, words(7000, 100)...))
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a.DB)...)
	if n := b.Keyspace().Common.Memory(); n != 0 {
		t.Errorf("another site's commonness takes %d bytes here", n)
	}
}

// Another site's report has the footer that is common here. The trace does not count it as a match.
func TestExplainedSketchIsWithoutCommonKeys(t *testing.T) {
	a, o := openMailSite(t, nil), bloomdbtest.Options(t.TempDir(), "b")
	o.Now = a.clock.Now
	b, footer := bloomdbtest.Open(t, o), words(500, 60)
	a.receiveForWeeks(func(n int) signature.Set { return wordy(n, append(words(1000*(n+2), 30), footer...)...) })
	mustReportSet(t, b, wordy(100, append(words(100_000, 10), footer...)...))
	bloomdbtest.Apply(t, a.DB, bloomdbtest.Drain(t, b)...)
	mail := wordy(200, append(words(200_000, 30), footer...)...)
	if a.Judge(mail).Listed {
		t.Fatal("innocent mail with the footer is listed")
	}
	trails := a.ExplainSketches(mail)[0].Spam
	if len(trails) != 1 || trails[0].Site != "b" || trails[0].Found >= trails[0].Weak || trails[0].Common < trails[0].Need {
		t.Errorf("with the footer: %+v", trails)
	}
	if trails := a.ExplainSketches(wordy(300, words(300_000, 90)...))[0].Spam; len(trails) > 0 {
		t.Errorf("other mail: %+v", trails)
	}
}

// A damaged set is set aside by name, and costs no listing.
func TestDamagedCommonSetIsSetAside(t *testing.T) {
	o, c := bloomdbtest.Options(t.TempDir(), "a"), bloomdbtest.NewClock()
	o.Now = c.Now
	s := mailSite{bloomdbtest.Open(t, o), c}
	s.receive(wordy(1, words(0, 100)...), "shop.example")
	spam := wordy(2, words(5000, 100)...)
	mustReportSet(t, s.DB, spam)
	testenv.Check(t, s.Close())
	files, _ := filepath.Glob(filepath.Join(o.Dir, "common-*.set"))
	if len(files) != 1 {
		t.Fatalf("files: %v", files)
	}
	testenv.Check(t, os.Truncate(files[0], 5000))
	db := bloomdbtest.Open(t, o)
	if !db.Judge(spam).Listed {
		t.Error("a report is lost")
	}
	aside := db.DamagedFiles()
	if !slices.ContainsFunc(aside, func(f bloomdb.DamagedFile) bool { return f.Name == filepath.Base(files[0])+".damaged" }) {
		t.Errorf("set aside: %+v", aside)
	}
}

// The trace of a link domain names the first rule that keeps it from listing messages alone.
func TestDoubts(t *testing.T) {
	for want, prepare := range map[string]func(s mailSite){
		"campaigns": func(s mailSite) { reportCampaigns(t, s.DB, "spam", 2, "some.example") },
		"mail": func(s mailSite) {
			for i := range 3 {
				mustReportSet(t, s.DB, linking(fmt.Sprint("spam ", i), "some.example"))
			}
		},
		"sightings": func(s mailSite) {
			reportCampaigns(t, s.DB, "spam", 3, "some.example")
			testenv.Check(t, s.CountDomains(linking("news", "some.example"), bloomdb.Evidence{}, 9))
		},
		"common": func(s mailSite) {
			s.receiveForWeeks(func(n int) signature.Set { return linking(fmt.Sprint("news ", n), "some.example") })
			reportCampaigns(t, s.DB, "spam", 3, "some.example")
		},
	} {
		s := openMailSite(t, nil)
		prepare(s)
		if got := s.ExplainDomains(linking("new", "some.example"))[0]; string(got.Doubt) != want || got.Alone() {
			t.Errorf("%q, want %q: %+v", got.Doubt, want, got)
		}
	}
	s := openMailSite(t, func(o *bloomdb.Options) { o.Domains.Campaigns = -1 })
	for domain, want := range map[string]string{"some.example": "off", "google.com": "ignored"} {
		if got := s.ExplainDomains(linking("new", domain))[0]; string(got.Doubt) != want {
			t.Errorf("%s: %q, want %q", domain, got.Doubt, want)
		}
	}
}

// An archive of wanted mail makes common at once what its mail has in common. Mail that was reported
// is not learned, nor what a site that does not learn is fed.
func TestLearnArchived(t *testing.T) {
	s := openMailSite(t, nil)
	footer := words(500, 60)
	spam := wordy(50, words(90_000, 60)...)
	mustReportSet(t, s.DB, spam)
	if learned, err := s.LearnArchived(spam, "shop.example", s.Now()); learned || err != nil {
		t.Errorf("reported mail: learned %v, %v", learned, err)
	}
	for _, bad := range []struct {
		set  signature.Set
		from string
	}{{wordy(1, footer...), ""}, {signature.Set{}, "shop.example"}} {
		if _, err := s.LearnArchived(bad.set, bad.from, s.Now()); !errors.Is(err, bloomdb.ErrNothing) {
			t.Errorf("from %q: %v", bad.from, err)
		}
	}
	for i := range 6 {
		mail := wordy(i, append(words(1000*(i+2), 30), footer...)...)
		if learned, err := s.LearnArchived(mail, fmt.Sprintf("shop%d.example", i), s.Now().AddDate(-i, 0, -i-14)); !learned || err != nil {
			t.Fatalf("learned %v, %v", learned, err)
		}
	}
	mustReportSet(t, s.DB, wordy(100, append(words(100_000, 10), footer...)...))
	if s.Judge(wordy(200, append(words(200_000, 30), footer...)...)).Listed {
		t.Error("the footer of archived mail lists innocent mail")
	}
	off := openMailSite(t, func(o *bloomdb.Options) { o.Reports.NoCommonness = true })
	if _, err := off.LearnArchived(wordy(1, footer...), "shop.example", s.Now()); !errors.Is(err, bloomdb.ErrLearning) {
		t.Errorf("a site that does not learn: %v", err)
	}
}

// A poisoned archive, with spam under forged names of a company, does not spare mail that only claims
// to be from the company.
func TestForgedArchiveSparesNobody(t *testing.T) {
	s := openMailSite(t, nil)
	for i := range 9 {
		if _, err := s.LearnArchived(wordy(i, words(20_000*(i+1), 60)...), "bank.example", s.Now().AddDate(0, 0, -i)); err != nil {
			t.Fatal(err)
		}
	}
	mustReportSet(t, s.DB, wordy(100, words(0, 60)...))
	near := wordy(101, append(words(0, 57), words(9000, 3)...)...)
	if !s.JudgeFrom(near, bloomdb.Sender{}).Listed {
		t.Error("spam is spared without a proof of its sender")
	}
	if e := s.JudgeFrom(near, bloomdb.Sender{From: "bank.example"}); e.Listed || e.Sender != "bank.example" {
		t.Errorf("mail that is proved to be from the company: %+v", e)
	}
}
