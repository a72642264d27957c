package exchange_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// usedMemory returns the memory used by Redis, in bytes.
func usedMemory(t testing.TB, c *redisclient.Client) int64 {
	t.Helper()
	found := regexp.MustCompile(`used_memory:(\d+)`).FindStringSubmatch(c.Info(t.Context(), "memory").Val())
	if found == nil {
		t.Fatal("Redis does not report its memory")
	}
	n, err := strconv.ParseInt(found[1], 10, 64)
	testenv.Check(t, err)
	return n
}

// Out of memory, Redis refuses writes. Existing data can still be read, news still arrive,
// and everything is published when there is memory again.
func TestReadingWithoutMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "noeviction")
	a, b := startSites(t, server.URL(), server.URL())
	c := server.Client()
	defer c.Close()
	const n = 20
	for i := range n {
		a.report(mail("before %d", i))
	}
	b.awaitAll("before %d", n)
	testenv.Check(t, c.ConfigSet(t.Context(), "maxmemory", "1").Err())
	a.report(mail("during"))
	testenv.Eventually(t, "the fault is reported", func() bool { return strings.Contains(a.x.Status().LastError, "OOM") })

	late := startSite(t, t.TempDir(), "late", server.URL())
	late.awaitAll("before %d", n)
	if late.lists(mail("during")) || b.lists(mail("during")) {
		t.Error("a refused report arrived at another site")
	}
	if !a.lists(mail("during")) {
		t.Error("the report is not listed where it was made")
	}
	testenv.Check(t, c.ConfigSet(t.Context(), "maxmemory", "0").Err())
	for _, s := range []*site{b, late} {
		testenv.Eventually(t, "the report arrives", func() bool { return s.lists(mail("during")) })
	}
	traffic(t, a, b, func(int) {})
	expectNewcomer(t, server.URL())
}

// Memory is available at times: the limit is a little above the memory in use, as in a
// Redis that others fill too.
func TestMemoryAtItsLimit(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "noeviction")
	a, b := startSites(t, server.URL(), server.URL())
	c := server.Client()
	defer c.Close()
	ballast := strings.Repeat("x", 1<<20)
	refused := 0
	traffic(t, a, b, func(i int) {
		switch {
		case i%10 == 2:
			c.ConfigSet(t.Context(), "maxmemory", "1")
		case i%10 == 7:
			c.ConfigSet(t.Context(), "maxmemory", "64mb")
		}
		if c.Set(t.Context(), "ballast", ballast, 0).Err() != nil {
			refused++
		}
		if i == 39 {
			c.ConfigSet(t.Context(), "maxmemory", "0")
		}
	})
	if refused < 10 {
		t.Errorf("Redis refused only %d writes", refused)
	}
	expectNewcomer(t, server.URL())
}

// Reports are not delayed by a snapshot that does not fit into Redis. Its partial data, written
// now or before a crash, is removed.
func TestReportsWithoutRoomForASnapshot(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "noeviction")
	dir := t.TempDir()
	a := startSite(t, dir, "a", server.URL())
	b := startSite(t, t.TempDir(), "b", server.URL())
	a.report(mail("before"))
	testenv.Eventually(t, "it has a snapshot", func() bool { return a.x.Status().Snapshot != nil })
	a.stop()

	c := server.Client()
	defer c.Close()
	manifest, err := b.db.ReadManifest([]byte(c.Get(t.Context(), b.keys().ManifestKey("a")).Val()))
	testenv.Check(t, err)
	half := b.keys().SlotKey("a", streams.OtherSlot(manifest.Slot))
	testenv.Check(t, c.HSet(t.Context(), half, "0", strings.Repeat("x", 32<<20)).Err())
	testenv.Check(t, c.ConfigSet(t.Context(), "maxmemory", "16mb").Err())
	a = startSite(t, dir, "a", server.URL())
	a.report(mail("during"))
	testenv.Eventually(t, "the report arrives", func() bool { return b.lists(mail("during")) })
}
