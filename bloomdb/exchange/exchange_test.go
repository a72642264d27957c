package exchange_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Reports, revocations and counts of each site reach all others, including one that joins
// later.
func TestSitesConverge(t *testing.T) {
	for _, server := range []string{"miniredis", "redis"} {
		t.Run(server, func(t *testing.T) {
			url := ""
			if server == "redis" {
				url = redistest.Start(t).URL()
			} else {
				m, _ := redistest.Mini(t)
				url = "redis://" + m.Addr()
			}
			sites := []*site{
				startSite(t, t.TempDir(), "a", url),
				startSite(t, t.TempDir(), "b", url),
				startSite(t, t.TempDir(), "c", url),
			}
			const n = 20
			for i := range n {
				for _, s := range sites {
					s.report(mail("spam of "+s.db.Status().Site+" %d", i))
					s.count(mail("bulk %d", i), uint32(i+1))
				}
			}
			sites[1].revoke(mail("spam of a %d", 0))
			late := startSite(t, t.TempDir(), "late", url)
			sites = append(sites, late)

			for _, s := range sites {
				s.awaitAll("spam of b %d", n)
				s.awaitAll("spam of c %d", n)
				testenv.Eventually(t, "the revocation arrives", func() bool { return !s.lists(mail("spam of a %d", 0)) && s.lists(mail("spam of a %d", n-1)) })
				for i := range n {
					want := uint64(3 * (i + 1))
					testenv.Eventually(t, "the counts of all sites add up", func() bool { return s.counts(mail("bulk %d", i)) >= want })
					if got := s.counts(mail("bulk %d", i)); got != want {
						t.Errorf("bulk %d was counted %d times, not %d", i, got, want)
					}
				}
			}
			awaitLevel(t, sites...)
			for _, s := range sites {
				s.awaitConnected()
				st := s.x.Status()
				if len(st.Sites) < 2 {
					t.Errorf("status %+v", st)
				}
				for _, o := range st.Sites {
					if o.Lag != 0 || o.Gaps != 0 || o.Refused != nil {
						t.Errorf("status of %s: %+v", o.Site, o)
					}
				}
			}
		})
	}
}

// The status page and the metrics contain the data of the exchange.
func TestStatusAndMetrics(t *testing.T) {
	server := redistest.Start(t)
	b := joinSite(t, siteOptions(t.TempDir(), "b"), server.URL(), calm)
	b.awaitConnected() // and receives the first heartbeat of a
	a := joinSite(t, siteOptions(t.TempDir(), "a"), server.URL(), calm)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(b.x.Collectors()...)
	a.report(mail("x"))
	testenv.Eventually(t, "the report arrives", func() bool { return b.lists(mail("x")) })
	awaitLevel(t, a, b)
	b.awaitConnected()
	testenv.Eventually(t, "the position is reported", func() bool { return b.of("a").Applied == a.x.Status().Published })
	testenv.Eventually(t, "a heartbeat arrives", func() bool { return b.of("a").Heard != nil })

	text, err := json.Marshal(b.x.Status())
	testenv.Check(t, err)
	want := regexp.MustCompile(`^{"connected":true,"published":{"epoch":\d+,"seq":0},"sites":\[{"site":"a",` +
		`"trust":"full","head":{"epoch":\d+,"seq":1},"applied":{"epoch":\d+,"seq":1},"lag":0,"lag_seconds":0,` +
		`"heard":"[^"]+",("snapshot":{[^}]+},)?"skew_seconds":-?[\d.]+,"gaps":0}\]}$`)
	if !want.Match(text) {
		t.Errorf("%s", text)
	}
	families, err := registry.Gather()
	testenv.Check(t, err)
	got := make(map[string]float64)
	for _, f := range families {
		m := f.GetMetric()[0]
		got[f.GetName()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	for name, value := range map[string]float64{
		"spambloom_exchange_connected":             1,
		"spambloom_exchange_applied_total":         1,
		"spambloom_exchange_lag":                   0,
		"spambloom_exchange_published_total":       0,
		"spambloom_exchange_published_bytes_total": 0,
		"spambloom_exchange_resubscriptions_total": 0,
	} {
		if v, ok := got[name]; !ok || v != value {
			t.Errorf("%s is %v, %v", name, v, ok)
		}
	}
}

// In normal operation deltas are applied from the news, without reading the streams.
func TestNewsSufficeInSequence(t *testing.T) {
	server := redistest.Start(t)
	a := joinSite(t, siteOptions(t.TempDir(), "a"), server.URL(), calm)
	b := joinSite(t, siteOptions(t.TempDir(), "b"), server.URL(), calm)
	a.report(mail("first"))
	testenv.Eventually(t, "the first report arrives", func() bool { return b.lists(mail("first")) })
	awaitLevel(t, a, b)

	c := server.Client()
	defer c.Close()
	calls := regexp.MustCompile(`cmdstat_xread:calls=(\d+)`)
	reads := func() int {
		found := calls.FindStringSubmatch(c.Info(t.Context(), "commandstats").Val())
		if found == nil {
			return 0
		}
		n, _ := strconv.Atoi(found[1])
		return n
	}
	const deltas = 30
	before := reads()
	for i := range deltas {
		a.count(mail("m %d", i), 1)
		testenv.Eventually(t, "the count arrives", func() bool { return b.counts(mail("m %d", i)) == 1 })
	}
	if after := reads(); after-before > deltas/2 {
		t.Errorf("the streams were read %d times for %d deltas", after-before, deltas)
	}
}

func TestRestartContinuesFromTheCursor(t *testing.T) {
	server := redistest.Start(t)
	dirA, dirB := t.TempDir(), t.TempDir()
	a := startSite(t, dirA, "a", server.URL())
	b := startSite(t, dirB, "b", server.URL())
	a.report(mail("before"))
	testenv.Eventually(t, "the report arrives", func() bool { return b.lists(mail("before")) })
	awaitLevel(t, a, b)
	applied := b.of("a").Applied
	b.stop()
	a.report(mail("meanwhile"))
	testenv.Eventually(t, "it is published", func() bool { _, seq := a.db.Head(); return seq > applied.Seq })
	a.stop()

	a = startSite(t, dirA, "a", server.URL())
	b = startSite(t, dirB, "b", server.URL())
	if got := b.of("a").Applied; got != (streams.Position{}) && got != applied && !got.After(applied) {
		t.Errorf("the cursor went back from %v to %v", applied, got)
	}
	a.report(mail("after"))
	for _, m := range []string{"before", "meanwhile", "after"} {
		testenv.Eventually(t, m+" arrives", func() bool { return b.lists(mail("%s", m)) })
	}
	awaitLevel(t, a, b)
	if st := b.of("a"); st.Gaps != 0 || st.Applied.Epoch != applied.Epoch {
		t.Errorf("after the restart: %+v, before: %v", st, applied)
	}
}

// A site that lost its state folder continues in a new epoch: other sites keep its data
// from the old one.
func TestLostStateFolder(t *testing.T) {
	server, a, b := startPair(t)
	a.report(mail("old epoch"))
	testenv.Eventually(t, "the report arrives", func() bool { return b.lists(mail("old epoch")) })
	awaitLevel(t, a, b)
	old := b.of("a").Applied
	a.stop()

	a = startSite(t, t.TempDir(), "a", server.URL())
	a.report(mail("new epoch"))
	testenv.Eventually(t, "the new epoch is received", func() bool { return b.lists(mail("new epoch")) })
	if !b.lists(mail("old epoch")) {
		t.Error("the old epoch is lost")
	}
	if st := b.of("a"); st.Applied.Epoch <= old.Epoch || st.Gaps != 0 {
		t.Errorf("%+v after %v", st, old)
	}
}

// A state folder restored from a backup is older than the published deltas.
func TestRestoredBackup(t *testing.T) {
	server := redistest.Start(t)
	dir := t.TempDir()
	a := startSite(t, dir, "a", server.URL())
	b := startSite(t, t.TempDir(), "b", server.URL())
	a.report(mail("saved"))
	awaitLevel(t, a, b)
	a.stop()
	backup := copyDir(t, dir)
	a = startSite(t, dir, "a", server.URL())
	for i := range 5 {
		a.report(mail("lost %d", i))
		b.awaitAll("lost %d", i+1)
	}
	a.stop()

	a = startSite(t, backup, "a", server.URL())
	a.report(mail("after"))
	for _, m := range []string{"saved", "after"} {
		testenv.Eventually(t, m+" arrives", func() bool { return b.lists(mail("%s", m)) })
	}
	b.awaitAll("lost %d", 5)
	c := startSite(t, t.TempDir(), "c", server.URL())
	testenv.Eventually(t, "a new site receives it too", func() bool { return c.lists(mail("after")) && c.lists(mail("saved")) })
}

// Two daemons with the same name would flood Redis: each would publish all its data after every
// delta of the other. One of them stops publishing instead.
func TestTwoDaemonsWithOneName(t *testing.T) {
	server := redistest.Start(t)
	one := startSite(t, t.TempDir(), "a", server.URL())
	one.report(mail("one"))
	one.awaitConnected()
	testenv.Eventually(t, "it is published", func() bool { _, seq := one.db.Head(); return seq > 0 })
	two := startSite(t, t.TempDir(), "a", server.URL())
	two.report(mail("two"))
	testenv.Eventually(t, "the first one notices", func() bool {
		return strings.Contains(one.x.Status().LastError, nameTaken)
	})
	testenv.Eventually(t, "the second one has published", func() bool { // the first one may notice its heartbeat earlier
		epoch, seq := two.db.Head()
		end, err := two.keys().Tail(t.Context(), "a")
		return err == nil && seq > 0 && end.At == streams.At(epoch, seq)
	})
	c := server.Client()
	defer c.Close()
	entries := func() int64 { return c.XLen(t.Context(), two.keys().StreamKey("a")).Val() }
	before := entries()
	for i := range 10 {
		one.report(mail("one %d", i))
		time.Sleep(50 * time.Millisecond) // several intervals and heartbeats
	}
	if after := entries(); after != before {
		t.Errorf("the stream grew from %d to %d entries", before, after)
	}
	if one.x.Status().Connected {
		t.Error("it reports being connected")
	}
}

// A reader whose cursor was trimmed away continues with the remaining entries and reports a
// gap, until the site's next snapshot fills it.
func TestTrimmedStream(t *testing.T) {
	server := redistest.Start(t)
	dirA, dirB := t.TempDir(), t.TempDir()
	rarely := exchange.Options{Interval: 20 * time.Millisecond, Heartbeat: 300 * time.Millisecond}
	a := joinSite(t, siteOptions(dirA, "a"), server.URL(), rarely)
	b := startSite(t, dirB, "b", server.URL())
	a.report(mail("first"))
	testenv.Eventually(t, "it arrives", func() bool { return b.lists(mail("first")) })
	awaitLevel(t, a, b)
	testenv.Eventually(t, "a has a snapshot", func() bool { return a.x.Status().Snapshot != nil })
	b.stop()
	for i := range 20 {
		_, before := a.db.Head()
		a.report(mail("m %d", i))
		testenv.Eventually(t, "it is published", func() bool { _, seq := a.db.Head(); return seq > before })
	}
	c := server.Client()
	defer c.Close()
	testenv.Check(t, c.XTrimMaxLen(t.Context(), a.keys().StreamKey("a"), 5).Err())
	b = startSite(t, dirB, "b", server.URL())
	testenv.Eventually(t, "the remaining entries arrive", func() bool { return b.lists(mail("m %d", 19)) && b.lists(mail("m %d", 15)) })
	testenv.Eventually(t, "the gap is reported", func() bool { st := b.of("a"); return st.Gaps == 1 && st.Lag == 0 && st.Refused == nil })
	if b.lists(mail("m %d", 14)) {
		t.Error("a trimmed report is listed")
	}
	a.report(mail("after"))
	testenv.Eventually(t, "it goes on", func() bool { return b.lists(mail("after")) })

	a.stop()
	a = startSite(t, dirA, "a", server.URL()) // with snapshots in quick succession
	a.report(mail("later"))
	b.awaitAll("m %d", 20)
	testenv.Eventually(t, "the gap is filled", func() bool { return b.of("a").Gaps == 0 && !b.db.Wanting("a") })
	expectNoFault(t, a, b)
}

// A site that joins late, with emptied streams, finds everything in the snapshots.
func TestNewcomerReadsSnapshots(t *testing.T) {
	server, a, b := startPair(t)
	for i := range 40 {
		a.report(mail("spam of a %d", i))
		b.report(mail("spam of b %d", i))
		a.count(mail("bulk %d", i), 2)
		b.count(mail("bulk %d", i), 3)
	}
	awaitLevel(t, a, b)
	c := server.Client()
	defer c.Close()
	for _, s := range []*site{a, b} {
		testenv.Eventually(t, "the snapshot has all", func() bool {
			st := s.x.Status()
			return st.Snapshot != nil && *st.Snapshot == st.Published
		})
		c.XTrimMaxLen(t.Context(), s.keys().StreamKey(s.db.Status().Site), 0)
	}
	expectNewcomer(t, server.URL())
	late := startSite(t, t.TempDir(), "late", server.URL())
	awaitLevel(t, a, b, late)
	testenv.Eventually(t, "nothing is missing", func() bool { return late.of("a").Lag == 0 && late.of("b").Lag == 0 })
	expectNoFault(t, a, b, late)
}

func expectNoFault(t *testing.T, sites ...*site) {
	t.Helper()
	for _, s := range sites {
		for _, o := range s.x.Status().Sites {
			if o.Gaps != 0 || o.Refused != nil || o.Clock {
				t.Errorf("%s of %s: %+v", s.db.Status().Site, o.Site, o)
			}
		}
	}
}

// The permissions listed in FORMAT.md suffice, and news are received with them.
func TestLeastRights(t *testing.T) {
	doc, err := os.ReadFile("FORMAT.md")
	testenv.Check(t, err)
	line := regexp.MustCompile(`(?m)^    (ACL SETUSER .*)$`).FindSubmatch(doc)
	if line == nil {
		t.Fatal("FORMAT.md has no ACL SETUSER line")
	}
	server := redistest.Start(t)
	c := server.Client()
	defer c.Close()
	var acl []any
	for word := range strings.FieldsSeq(strings.Replace(string(line[1]), ">PASSWORD", ">geheim", 1)) {
		acl = append(acl, word)
	}
	testenv.Check(t, c.Do(t.Context(), acl...).Err())
	testenv.Check(t, c.Do(t.Context(), "ACL", "SETUSER", "default", "off").Err())
	url := "unix://spambloom:geheim@" + server.Socket()
	a := startSite(t, t.TempDir(), "a", url)
	b := joinSite(t, siteOptions(t.TempDir(), "b"), url, calm)
	a.awaitConnected()
	b.awaitConnected()
	a.report(mail("x"))
	testenv.Eventually(t, "the report arrives", func() bool { return b.lists(mail("x")) })
	a.stop()
	a = startSite(t, t.TempDir(), "a", url)
	a.report(mail("y"))
	testenv.Eventually(t, "that of the next run too", func() bool { return b.lists(mail("y")) })
	if s := b.x.Status(); s.LastError != "" {
		t.Error(s.LastError)
	}
}

// Sites with different parameters refuse each other's deltas and continue with those of
// others.
func TestOtherParameters(t *testing.T) {
	server, a, b := startPair(t)
	o := siteOptions(t.TempDir(), "other")
	o.Reports.Capacity *= 2
	other := startSiteWith(t, o, server.URL())
	for i := range 3 {
		other.report(mail("other %d", i))
		a.report(mail("a %d", i))
		testenv.Eventually(t, "it is refused", func() bool { return b.of("other").Refused[string(refusal.Parameters)] > int64(i) })
	}
	b.awaitAll("a %d", 3)
	testenv.Eventually(t, "the other one refuses too", func() bool { return other.of("a").Refused[string(refusal.Parameters)] > 0 })
	testenv.Eventually(t, "it lags", func() bool { return b.of("other").Lag > 0 })
	if st := b.of("other"); st.Applied != (streams.Position{}) {
		t.Errorf("refused deltas count as applied: %+v", st)
	}
	if b.lists(mail("other %d", 0)) {
		t.Error("it was applied")
	}
}

// A crash leaves numbers without a delta, and the stream contains rejected deltas. Neither is a
// gap. Rejected deltas stay wanted, though.
func TestNoFalseGaps(t *testing.T) {
	server := redistest.Start(t)
	dir := t.TempDir()
	a := startSite(t, dir, "a", server.URL())
	b := startSite(t, t.TempDir(), "b", server.URL())
	o := siteOptions(t.TempDir(), "other")
	o.Reports.Capacity *= 2
	other := startSiteWith(t, o, server.URL())
	a.report(mail("one"))
	testenv.Eventually(t, "one arrives", func() bool { return b.lists(mail("one")) })
	awaitLevel(t, a, b)
	a.stop()

	db, err := bloomdb.Open(siteOptions(dir, "a"))
	testenv.Check(t, err)
	testenv.Check(t, db.Resume(db.Head()))
	testenv.Check(t, db.Report(mail("two"), bloomdb.ClassOther))
	if _, ok, err := db.NextDelta(true); !ok || err != nil { // it never reaches Redis
		t.Fatal(ok, err)
	}
	testenv.Check(t, db.Close())
	a = startSite(t, dir, "a", server.URL())
	testenv.Eventually(t, "two arrives", func() bool { return b.lists(mail("two")) })
	for i := range 4 {
		a.report(mail("report %d", i))
		a.count(mail("counted %d", i), 3)
		testenv.Eventually(t, "the counts arrive where reports are refused", func() bool { return other.counts(mail("counted %d", i)) == 3 })
	}
	testenv.Eventually(t, "reports are refused", func() bool { return other.of("a").Refused[string(refusal.Parameters)] > 0 })
	for _, s := range []*site{b, other} {
		if st := s.of("a"); st.Gaps != 0 || s.db.Wanting("a") != (s == other) {
			t.Errorf("%s: %+v, database %+v", s.db.Status().Site, st, s.db.Status().Sites)
		}
	}
}
