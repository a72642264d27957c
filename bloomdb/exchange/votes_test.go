package exchange_test

import (
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// withTrust starts a site with the given trust in other sites.
func withTrust(t *testing.T, name, url string, members wire.Members) *site {
	t.Helper()
	o := siteOptions(t.TempDir(), name)
	o.Members = members
	return joinSite(t, o, url, exchange.Options{Interval: 20 * time.Millisecond, Heartbeat: 300 * time.Millisecond, SnapshotInterval: 100 * time.Millisecond})
}

// TestTrust: a site reads only the votes of sites with the trust "vote", and nothing from sites
// with the trust "none". It rejects unknown sites. Fully trusted sites are read as well.
func TestTrust(t *testing.T) {
	server := redistest.Start(t)
	url := server.URL()
	one, two := startSite(t, t.TempDir(), "one", url), startSite(t, t.TempDir(), "two", url)
	none, stranger := startSite(t, t.TempDir(), "none", url), startSite(t, t.TempDir(), "stranger", url)
	full := startSite(t, t.TempDir(), "full", url)
	for _, s := range []*site{one, two, none, stranger} {
		s.report(mail("by all but full"))
		s.report(mail("by %s", s.db.Status().Site))
	}
	full.report(mail("by full"))
	for _, s := range []*site{one, two, none, stranger, full} {
		testenv.Eventually(t, "it is published", func() bool { st := s.x.Status(); return st.Snapshot != nil && st.Published.Seq > 0 })
	}
	vote, no := wire.Member{Trust: wire.TrustVote}, wire.Member{Trust: wire.TrustNone}
	s := withTrust(t, "s", url, wire.Members{"one": vote, "two": vote, "none": no, "full": {}})
	s.report(mail("by s"))
	testenv.Eventually(t, "the full member's report arrives", func() bool { return s.lists(mail("by full")) })
	testenv.Eventually(t, "the votes arrive", func() bool { return s.of("one").Votes > 0 && s.of("two").Votes > 0 })
	testenv.Eventually(t, "the stranger is refused", func() bool { return s.x.Status().Refused[string(refusal.Stranger)] > 0 })
	testenv.Eventually(t, "the site none is known", func() bool { return s.of("none").Trust == "none" })
	testenv.Eventually(t, "its own snapshot exists", func() bool { return s.x.Status().Snapshot != nil })
	for _, name := range []string{"one", "two", "none", "stranger"} {
		if s.lists(mail("by %s", name)) {
			t.Errorf("%s alone decided", name)
		}
		if st := s.of(name); st.Applied != (streams.Position{}) || st.Lag != 0 {
			t.Errorf("deltas were applied or awaited: %+v", st)
		}
	}
	if s.of("none").Votes != 0 || s.of("stranger").Site != "" {
		t.Errorf("%+v", s.x.Status())
	}
}

// A muted site is not read, and its lag is reported. After it is unmuted, no data is missing.
func TestMuted(t *testing.T) {
	_, a, b := startPair(t)
	a.report(mail("before"))
	testenv.Eventually(t, "it arrives", func() bool { return b.lists(mail("before")) })
	testenv.Check(t, b.db.Mute("a", true))
	for i := range 3 {
		a.report(mail("m %d", i))
		testenv.Eventually(t, "it lags", func() bool { st := b.of("a"); return st.Muted && st.Lag > uint64(i) && st.LagSeconds > 0 })
	}
	if b.lists(mail("m 0")) {
		t.Error("its report arrived")
	}
	testenv.Check(t, b.db.Mute("a", false))
	b.awaitAll("m %d", 3)
	testenv.Eventually(t, "it is level", func() bool { st := b.of("a"); return st.Lag == 0 && st.LagSeconds == 0 })
	expectNoFault(t, a, b)
}

// An hour of skew is tolerated. Deltas of a site further ahead stay in its stream, and none is
// lost.
func TestClockSkew(t *testing.T) {
	server := redistest.Start(t)
	b := startSite(t, t.TempDir(), "b", server.URL())
	skewed := func(name string, by time.Duration) {
		o := siteOptions(t.TempDir(), name)
		o.Now = func() time.Time { return time.Now().Add(by) }
		s := joinSite(t, o, server.URL(), exchange.Options{Interval: 20 * time.Millisecond, Heartbeat: 300 * time.Millisecond})
		s.report(mail("by %s", name))
	}
	skewed("ahead", 59*time.Minute)
	skewed("behind", -59*time.Minute)
	skewed("far", 2*time.Hour)
	skewed("slow", -2*time.Hour)
	for _, name := range []string{"ahead", "behind", "slow"} {
		testenv.Eventually(t, name+"'s report arrives", func() bool { return b.lists(mail("by %s", name)) })
	}
	testenv.Eventually(t, "the wrong clocks are reported", func() bool {
		return b.of("far").Clock && b.of("slow").Clock && b.of("far").Refused[string(refusal.Clock)] > 0
	})
	testenv.Eventually(t, "its heartbeat arrives", func() bool { return b.of("ahead").SkewSeconds != 0 })
	if st := b.of("ahead"); st.Clock || st.SkewSeconds < 3500 || st.Refused != nil {
		t.Errorf("%+v", st)
	}
	testenv.Eventually(t, "the site far ahead waits", func() bool { st := b.of("far"); return st.Lag > 0 && st.LagSeconds > 0 })
	if b.lists(mail("by far")) || b.of("far").Applied != (streams.Position{}) {
		t.Error("a delta of the site far ahead was applied")
	}
	if st := b.of("slow"); st.SkewSeconds > -7000 {
		t.Errorf("%+v", st)
	}
	late := joinSite(t, func() bloomdb.Options {
		o := siteOptions(t.TempDir(), "late")
		o.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
		return o
	}(), server.URL(), exchange.Options{})
	testenv.Eventually(t, "a site with that clock receives it", func() bool { return late.lists(mail("by far")) })
}
