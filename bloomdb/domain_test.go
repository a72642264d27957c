package bloomdb_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// linking returns a message with a text of its own that links to domains.
func linking(name string, domains ...string) signature.Set {
	set := setOf(name)
	set.Domains = domains
	return set
}

func setOf(name string) signature.Set {
	s := signature.Signature{Kind: signature.KindText, Digest: signature.Sum(signature.KindText, []byte(name))}
	return signature.Set{Signatures: []signature.Signature{s}, Counting: []signature.Signature{s}}
}

func TestDomainRule(t *testing.T) {
	for _, c := range []struct {
		campaigns, sightings uint64
		want                 bool
	}{
		{0, 0, false}, {2, 2, false}, {3, 0, true}, {3, 3, true}, {3, 4, false}, {9, 10, false},
		{10, 11, true}, {10, 12, false}, {100, 110, true}, {100, 111, false}, {1, 1000, false},
	} {
		if got := (store.DomainCounts{Campaigns: c.campaigns, Sightings: c.sightings, Unreported: 100_000}).IsSpamOnly(3); got != c.want {
			t.Errorf("%d campaigns, %d sightings: %v", c.campaigns, c.sightings, got)
		}
	}
	if (store.DomainCounts{Campaigns: 5, Unreported: 100_000}).IsSpamOnly(-1) {
		t.Error("the rule is off, and lists")
	}
}

// The limits are those of chi-squared tables (R: qchisq(0.99, 2*x+2)/2).
func TestOrdinaryRate(t *testing.T) {
	for _, c := range []struct {
		others uint64
		want   float64 // for a million messages, in parts of a million
	}{{0, 4.605}, {1, 6.638}, {2, 8.406}, {10, 20.14}, {100, 126.1}} {
		got := store.DomainCounts{Campaigns: 5, Sightings: 5 + c.others, Unreported: 1_000_000}.OrdinaryRate() * 1e6
		if math.Abs(got/c.want-1) > 0.005 {
			t.Errorf("%d messages: rate %.4g, want %.4g", c.others, got, c.want)
		}
	}
	if (store.DomainCounts{Campaigns: 900}).OrdinaryRate() != 1 {
		t.Error("a site that has seen no mail knows a rate")
	}
}

// No sightings are no evidence at a site that has seen little innocent mail.
func TestDomainDoesNotListAloneAtNewSite(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	for i := range 900 {
		set := linking(fmt.Sprint("phish ", i), "clicks.example")
		see(t, db, set, 1)
		mustReportSet(t, db, set)
	}
	if see(t, db, linking("newsletter", "clicks.example"), 1).Listed {
		t.Error("a domain lists alone before the site has seen innocent mail")
	}
}

// seeOrdinaryMail counts as much mail that nobody reports as a domain needs to list alone.
func seeOrdinaryMail(t rapid.TB, db *bloomdb.DB) {
	if db.ExplainDomains(linking("x", "unknown.example"))[0].OrdinaryRate <= 1.0/2000 {
		return
	}
	ks := db.Keyspace()
	to := layout.Target{Kind: layout.DomainFilter, Gen: ks.Settings.Generation(layout.DomainFilter, ks.Settings.Now())}
	counts, err := ks.Store.OwnDomains(to.Gen, store.DomainsShape())
	testenv.Check(t, err)
	h := ks.Ring.DomainKeys(store.AnyDomain).Sightings
	at, err := ks.Journal.Append(journal.Record{Target: to, Hashes: []filter.Hash{h}, Count: counts.Add(h, 20_000)})
	testenv.Check(t, err)
	ks.Journal.Done(at)
}

// reportCampaigns reports n messages with links, each of which arrived once before, at a site
// that has seen ordinary mail.
func reportCampaigns(t *testing.T, db *bloomdb.DB, name string, n int, domains ...string) {
	t.Helper()
	if bloomdbtest.SettingsOf(db).Domains.Campaigns > 0 {
		seeOrdinaryMail(t, db)
	}
	for i := range n {
		set := linking(fmt.Sprint(name, i), domains...)
		see(t, db, set, 1)
		testenv.Check(t, db.Report(set, layout.ClassOther))
	}
}

// see handles a message that arrives n times, and returns its evidence.
func see(t *testing.T, db *bloomdb.DB, set signature.Set, n uint32) bloomdb.Evidence {
	t.Helper()
	testenv.Check(t, db.Count(set, n))
	e := db.Judge(set)
	testenv.Check(t, db.CountDomains(set, e, n))
	return e
}

func TestDomainOfSpamOnly(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	reportCampaigns(t, db, "spam", 2, "spam.example")
	if e := see(t, db, linking("new", "spam.example"), 0); e.Listed {
		t.Fatal("two campaigns list")
	}
	reportCampaigns(t, db, "more", 1, "spam.example")
	e := see(t, db, linking("new", "other.example", "spam.example"), 50)
	if !e.Listed || len(e.Matches) != 1 || e.Matches[0].Domain != "spam.example" || e.Sites != 1 ||
		e.Matches[0].Signature != signature.DomainSignature("spam.example") {
		t.Fatalf("three campaigns: %+v", e)
	}
	if e := see(t, db, linking("again", "spam.example"), 1); !e.Listed {
		t.Error("sightings of listed mail count for the domain")
	}
	if see(t, db, linking("clean", "other.example"), 1).Listed || see(t, db, setOf("none"), 1).Listed {
		t.Error("mail without the domain is listed")
	}
}

func TestOneMessageIsOneCampaign(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	for range 10 {
		testenv.Check(t, db.Report(linking("same", "spam.example"), layout.ClassOther))
	}
	if c := db.ExplainDomains(linking("x", "spam.example"))[0].Campaigns; c != 1 {
		t.Errorf("%d campaigns", c)
	}
}

// Two people receive a newsletter. One of them reports each issue.
func TestReporterOfNewsletterListsNothing(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	for i := range 50 {
		issue := linking(fmt.Sprint("issue ", i), "news.example")
		if see(t, db, issue, 2).Listed {
			t.Fatalf("issue %d is listed before it was reported", i)
		}
		testenv.Check(t, db.Report(issue, layout.ClassOther))
	}
}

func TestOrdinaryMailSparesDomain(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	see(t, db, linking("friend", "both.example"), 1)
	reportCampaigns(t, db, "spam", 9, "both.example")
	if see(t, db, linking("new", "both.example"), 0).Listed {
		t.Error("a domain of ordinary mail lists")
	}
}

func TestRevocationTakesCampaignsBack(t *testing.T) {
	for _, campaigns := range []int{5, 200} {
		t.Run(fmt.Sprint(campaigns), func(t *testing.T) {
			db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
			reportCampaigns(t, db, "spam", campaigns, "spam.example")
			set := linking("new", "spam.example")
			if !db.Judge(set).Listed {
				t.Fatal("not listed")
			}
			testenv.Check(t, db.Revoke(set))
			other := linking("other", "spam.example")
			if db.Judge(set).Listed || db.Judge(other).Listed || db.ExplainDomains(other)[0].Alone() {
				t.Error("listed after a revocation")
			}
			reportCampaigns(t, db, "later", 1, "spam.example")
			if got, want := db.Judge(other).Listed, campaigns == 200; got != want {
				t.Errorf("after a later campaign in the same period: listed %v, want %v", got, want)
			}
			if db.Judge(set).Listed {
				t.Error("the revoked message itself is listed by its domain")
			}
		})
	}
}

// A revocation overrides reports up to its generation: campaigns of a later one list the domain
// again.
func TestDomainIsReportedAgainLater(t *testing.T) {
	o, c := bloomdbtest.Options(t.TempDir(), "a"), bloomdbtest.NewClock()
	o.Now = c.Now
	db := bloomdbtest.Open(t, o)
	reportCampaigns(t, db, "spam", 200, "spam.example")
	set := linking("new", "spam.example")
	testenv.Check(t, db.Revoke(set))
	c.Add(7 * 24 * time.Hour)
	if db.Judge(set).Listed {
		t.Error("listed in the next period, without a report")
	}
	reportCampaigns(t, db, "later", 1, "spam.example")
	if !db.Judge(linking("other", "spam.example")).Listed {
		t.Error("not listed after a later campaign")
	}
}

// Reports of a message that one reporter has revoked are not campaigns of their own.
func TestReportsOfRevokedMessageAreOneCampaign(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	set := linking("issue", "news.example")
	mustReportSet(t, db, set)
	testenv.Check(t, db.Revoke(set))
	for range 30 {
		mustReportSet(t, db, set)
	}
	if c := db.ExplainDomains(set)[0].Campaigns; c != 1 {
		t.Errorf("%d campaigns", c)
	}
}

func TestIgnoredDomains(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "a")
	o.Domains.NeverAlone = []string{"ours.example"}
	db := bloomdbtest.Open(t, o)
	reportCampaigns(t, db, "spam", 5, "google.com", "ours.example")
	if e := db.Judge(linking("new", "google.com", "ours.example")); e.Listed {
		t.Errorf("listed: %+v", e)
	}
	for _, d := range db.ExplainDomains(linking("new", "google.com", "ours.example")) {
		if !d.Ignored() || d.Campaigns > 0 || d.Reported != nil {
			t.Errorf("counted: %+v", d)
		}
	}
}

func TestDomainRuleOff(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "a")
	o.Domains.Campaigns = -1
	db := bloomdbtest.Open(t, o)
	reportCampaigns(t, db, "spam", 5, "spam.example")
	if db.Judge(linking("new", "spam.example")).Listed || reports(db)[0].Domains != nil {
		t.Error("listed or counted although the rule is disabled")
	}
}

func TestDomainsAge(t *testing.T) {
	o, c := bloomdbtest.Options(t.TempDir(), "a"), bloomdbtest.NewClock()
	o.Now = c.Now
	db := bloomdbtest.Open(t, o)
	reportCampaigns(t, db, "spam", 2, "spam.example")
	c.Add(7 * 24 * time.Hour)
	reportCampaigns(t, db, "later", 1, "spam.example")
	if !db.Judge(linking("new", "spam.example")).Listed {
		t.Error("the counts of two generations are not added")
	}
	c.Add(4 * 7 * 24 * time.Hour)
	if db.Judge(linking("new", "spam.example")).Listed {
		t.Error("listed after the first generation expired")
	}
}

func TestDomainsSurvive(t *testing.T) {
	for name, stop := range map[string]func(t *testing.T, db *bloomdb.DB){
		"a crash": func(t *testing.T, db *bloomdb.DB) {
			testenv.Check(t, db.Maintain())
			crash(t, db)
		},
		"a stop": func(t *testing.T, db *bloomdb.DB) {
			testenv.Check(t, db.Close())
		},
	} {
		o := bloomdbtest.Options(t.TempDir(), "a")
		db := bloomdbtest.Open(t, o)
		reportCampaigns(t, db, "spam", 3, "spam.example")
		see(t, db, linking("ham", "ham.example"), 7)
		stop(t, db)
		db = bloomdbtest.Open(t, o)
		got := db.ExplainDomains(linking("new", "spam.example", "ham.example"))
		if got[0].Campaigns != 3 || !got[0].Alone() || got[1].Sightings != 7 || got[1].Alone() {
			t.Errorf("after %s: %+v", name, got)
		}
	}
}

func TestDamagedDomainsAreNamed(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "a")
	db := bloomdbtest.Open(t, o)
	reportCampaigns(t, db, "spam", 3, "spam.example")
	testenv.Check(t, db.Close())
	files, _ := filepath.Glob(filepath.Join(o.Dir, "domains-*.snapshot"))
	if len(files) != 1 {
		t.Fatalf("snapshots: %v", files)
	}
	data, err := os.ReadFile(files[0])
	testenv.Check(t, err)
	data[len(data)/2] ^= 1
	testenv.Check(t, os.WriteFile(files[0], data, 0o600))
	mustSetAside(t, o, files[0])
}

// Counts of domains are never published, and never applied from a delta.
func TestDomainsAreNotPublished(t *testing.T) {
	a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	reportCampaigns(t, a, "spam", 3, "spam.example")
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
	got := b.ExplainDomains(linking("new", "spam.example"))[0]
	if got.Campaigns != 0 || got.Sightings != 0 || got.Alone() {
		t.Errorf("b counts %+v", got)
	}
	if got.Reported == nil || !slices.Equal(got.Reported.Sites, []string{"a"}) {
		t.Errorf("b did not apply a's report: %+v", got.Reported)
	}
}

func TestReportOfManySignaturesAndDomains(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	set := linking("x", "a.example", "b.example", "c.example", "d.example", "e.example")
	for i := len(set.Signatures); i < journal.MaxKeys; i++ {
		set.Signatures = append(set.Signatures, setOf(fmt.Sprint(i)).Signatures[0])
	}
	testenv.Check(t, db.Report(set, layout.ClassOther))
}

// The counts of a few domains equal those of a model, through reports, revocations, sightings
// and restarts.
func TestDomainModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "domains")
		testenv.Check(t, err)
		defer os.RemoveAll(dir)
		o := bloomdbtest.Options(dir, "a")
		db, err := bloomdbtest.TryOpen(o)
		testenv.Check(t, err)
		seeOrdinaryMail(t, db)
		campaigns, sightings := map[string]uint64{}, map[string]uint64{}
		reported := map[int]bool{}
		word, wordOf := map[int]int{}, map[string]int{} // the last rung of each, from 1 on
		say := func(n int, d string, revoke bool) {
			word[n], wordOf[d] = nextRung(word[n], revoke), nextRung(wordOf[d], revoke)
		}
		step := func(err error) {
			testenv.Check(t, err)
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			d := rapid.SampledFrom([]string{"a.example", "b.example", "c.example"}).Draw(t, "domain")
			n := rapid.IntRange(0, 6).Draw(t, "message")
			set := linking(fmt.Sprint(n), d)
			alone := wordOf[d]%2 == 1 && campaigns[d] >= 3 && max(sightings[d], campaigns[d])-campaigns[d] <= campaigns[d]/10
			isRevoked := word[n] > 0 && word[n]%2 == 0
			listed := !isRevoked && (reported[n] || alone)
			if got := db.Judge(set).Listed; got != listed {
				t.Fatalf("message %d with %s: listed %v, want %v (%d campaigns, %d sightings)", n, d, got, listed, campaigns[d], sightings[d])
			}
			switch rapid.IntRange(0, 5).Draw(t, "action") {
			case 0, 1, 2:
				step(db.Report(set, layout.ClassOther))
				if !reported[n] {
					campaigns[d]++
				}
				reported[n] = true
				say(n, d, false)
			case 3:
				step(db.CountDomains(set, db.Judge(set), 1))
				if !listed {
					sightings[d]++
				}
			case 4:
				step(db.Revoke(set))
				say(n, d, true)
				sightings[d] += 10 // the weight of a revocation
			case 5:
				step(db.Close())
				db, err = bloomdbtest.TryOpen(o)
				step(err)
			}
		}
		step(db.Check())
		step(db.Close())
	})
}

// nextRung returns the rung of a report or a revocation that follows another one, plus one; 0 is
// none.
func nextRung(last int, revoke bool) int {
	next := max(last, 1)
	if (next%2 == 0) != revoke {
		next++
	}
	return min(next, layout.ReporterRungs)
}

// weaklyLike returns a message that shares too few words with the report of wordy(_, words(0,
// 20)) to be listed.
func weaklyLike(t *testing.T, db *bloomdb.DB) signature.Set {
	t.Helper()
	for shared := 1; shared < 20; shared++ {
		set := wordy(2, append(words(0, shared), words(1000, 20-shared)...)...)
		if e := db.Judge(set); !e.Listed && len(e.Weak) > 0 {
			return set
		}
	}
	t.Fatal("no message has a weak match")
	return signature.Set{}
}

// A message with too few reported words is listed if the reported message had a link to the same
// domain.
func TestReportedDomainCorroborates(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	reported := wordy(1, words(0, 20)...)
	reported.Domains = []string{"google.com", "spam.example"}
	mustReportSet(t, db, reported)
	weak := weaklyLike(t, db)
	for _, c := range []struct {
		domain string
		want   bool
	}{{"spam.example", true}, {"google.com", false}, {"other.example", false}} {
		weak.Domains = []string{c.domain}
		e := db.Judge(weak)
		if e.Listed != c.want || c.want && (len(e.Matches) != 2 || e.Matches[1].Domain != c.domain) {
			t.Errorf("%s: %+v", c.domain, e)
		}
	}
	domainOnly := linking("new", "spam.example")
	if db.Judge(domainOnly).Listed {
		t.Error("a reported domain alone lists")
	}
	testenv.Check(t, db.Revoke(linking("ham", "spam.example")))
	weak.Domains = []string{"spam.example"}
	if e := db.Judge(weak); e.Listed {
		t.Errorf("a revoked domain corroborates: %+v", e)
	}
}

// A sender of mail with links to many domains fills the counts: sightings of its domains look like
// campaigns of others there. They list nothing that this site has not reported.
func TestFullDomainCountsListNothing(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	reportCampaigns(t, db, "spam", 3, "spam.example")
	fillDomainCounts(t, db, 1_000_000)
	for i := range 2000 {
		d := fmt.Sprintf("%d.example", i)
		set := linking(fmt.Sprint("letter ", i), d)
		if db.Judge(set).Listed {
			t.Errorf("%s was never reported, and lists mail: %+v", d, db.ExplainDomains(set))
		}
	}
	if !db.Judge(linking("new", "spam.example")).Listed {
		t.Error("the domain of three campaigns does not list")
	}
}

// fillDomainCounts counts three sightings of each of n other domains.
func fillDomainCounts(t *testing.T, db *bloomdb.DB, n int) {
	ks := db.Keyspace()
	counts, err := ks.Store.OwnDomains(ks.Settings.Generation(layout.DomainFilter, ks.Settings.Now()), store.DomainsShape())
	testenv.Check(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		counts.Add(filter.Hash{random.Uint64(), random.Uint64()}, 3)
	}
}
