//go:build figures

package bloomdb_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/layout"
	stores "github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// resident returns the memory of this process that is resident, in bytes.
func resident(t *testing.T) (bytes float64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	if _, err := fmt.Sscan(rest, &bytes); err != nil {
		t.Fatal(err)
	}
	return 1024 * bytes
}

// TestReportMemoryFigures fills the filters of reports of the default configuration in all generations:
// go test -tags figures. A filter does not grow with its entries, so a million of them, which touch all its
// pages, are enough. It prints the bytes of resident memory for each reported message of the
// capacity.
func TestReportMemoryFigures(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Reports, o.Exchange = layout.ReportOptions{Classes: true}, false
	db, err := bloomdbtest.TryOpen(o)
	testenv.Check(t, err)
	settings, store, r := db.Keyspace().Settings, db.Keyspace().Store, rand.New(rand.NewPCG(1, 2))
	capacity, sum := float64(settings.Reports.Capacity), 0.0
	add := func(name string, before float64) {
		bytes := (resident(t) - before) / capacity
		if sum += bytes; name == layout.ClassFilter.String() { // off by default
			sum -= bytes
		}
		t.Logf("| %s | %.1f |", name, bytes)
	}
	entries := map[layout.Kind]float64{
		layout.SpamFilter: settings.KeysPerGeneration(), layout.RevokedFilter: settings.KeysPerGeneration() / layout.RevokedShare,
		layout.ClassFilter: settings.KeysPerGeneration(), layout.SketchFilter: settings.SketchEntriesPerGeneration(),
		layout.LadderFilter: settings.RungsPerGeneration(),
	}
	for _, kind := range layout.ReportKinds {
		before := resident(t)
		for gen := range settings.Reports.Keep {
			target := layout.Target{Kind: kind, Gen: settings.Generation(layout.SpamFilter, db.Now()) - int64(gen)}
			own, err := store.OwnBits(target, store.ShapeFor(target))
			testenv.Check(t, err)
			for range min(int(entries[kind]), 1_000_000) { // more touch no other pages
				own.Set(randomHash(r))
			}
		}
		add(kind.String(), before)
	}
	before := resident(t)
	for gen := range settings.Reports.Keep {
		own, err := store.OwnDomains(settings.Generation(layout.DomainFilter, db.Now())-int64(gen), stores.DomainsShape())
		testenv.Check(t, err)
		for range 500_000 {
			own.Add(randomHash(r), 1)
		}
	}
	add("domains", before)
	t.Logf("sum without classes: %.1f bytes a message of %.0f; what is learned takes at most %.1f more",
		sum, capacity, float64(commonness.MostMemory(settings.Reports.Keep))/capacity)
	crash(t, db)
}
