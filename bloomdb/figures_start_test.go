//go:build figures

package bloomdb_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// The size of a full database: the capacities of the defaults, and the sketch of a text of some
// hundred words.
const (
	fullReports = 1_000_000 // over the generations kept; an eighth is revoked
	fullKeys    = 8
	fullSeeds   = 3 * (4 + 20)
	fullCounts  = 20_000_000 // in each generation kept
)

// fullFolder contains two state folders, made once a day because counts expire: one as Close
// leaves it, and one as kill -9 leaves it with the longest possible journal.
func fullFolder(t *testing.T) (clean, killed string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	testenv.Check(t, err)
	cache = filepath.Join(cache, "spambloom")
	dir := filepath.Join(cache, "full-"+time.Now().UTC().Format(time.DateOnly))
	if _, err := os.Stat(dir); err == nil {
		return filepath.Join(dir, "clean"), filepath.Join(dir, "killed")
	}
	old, _ := filepath.Glob(filepath.Join(cache, "full-*"))
	for _, path := range old {
		os.RemoveAll(path)
	}
	making := dir + ".making"
	testenv.Check(t, os.MkdirAll(making, 0o700))
	clean, killed = filepath.Join(making, "clean"), filepath.Join(making, "killed")
	makeFull(t, clean)
	makeKilled(t, clean, killed)
	testenv.Check(t, os.Rename(making, dir))
	return fullFolder(t)
}

// fullOptions are the daemon's defaults. The key is in its default place.
func fullOptions(t testing.TB, dir string) bloomdb.Options {
	t.Helper()
	path := filepath.Join(dir, "federation.key")
	if _, err := os.Stat(path); err != nil {
		testenv.Check(t, os.MkdirAll(dir, 0o700))
		testenv.Check(t, keyring.WriteKey(path, bloomdbtest.Key))
	}
	return bloomdb.Options{Dir: dir, Site: "full", Key: bloomdbtest.Key, Counts: layout.CountOptions{Burst: 10 * time.Minute}}
}

func openFull(t testing.TB, dir string) *bloomdb.DB {
	t.Helper()
	db, err := bloomdbtest.TryOpen(fullOptions(t, dir))
	testenv.Check(t, err)
	return db
}

func closeFull(t testing.TB, db *bloomdb.DB) {
	t.Helper()
	testenv.Check(t, db.Close())
}

// makeFull fills the filters directly. The time that the journal takes for a million reports is
// not measured here.
func makeFull(t *testing.T, dir string) {
	t.Helper()
	begin := time.Now()
	db := openFull(t, dir)
	r := rand.New(rand.NewPCG(1, 2))
	hashes := func(n int) (all []filter.Hash) {
		for range n {
			all = append(all, randomHash(r))
		}
		return all
	}
	done := func(layout.Target, []uint64) {}
	now, o := db.Now(), bloomdbtest.SettingsOf(db)
	for n := range fullReports {
		gen := o.Generation(layout.SpamFilter, now) - int64(n%o.Reports.Keep)
		spam := journal.Record{Target: layout.Target{Kind: layout.SpamFilter, Gen: gen}, Hashes: hashes(fullKeys)}
		sketch := journal.Record{Target: layout.Target{Kind: layout.SketchFilter, Gen: gen}}
		for range fullSeeds {
			sketch.Seeds = append(sketch.Seeds, r.Uint64())
		}
		records := []journal.Record{spam, sketch}
		if n%layout.RevokedShare == 0 {
			records = append(records, journal.Record{Target: layout.Target{Kind: layout.RevokedFilter, Gen: gen}, Hashes: spam.Hashes})
		}
		for _, record := range records {
			testenv.Check(t, db.Keyspace().Store.Set(record, done))
		}
	}
	for i := range o.Counts.Keep {
		own, err := db.Keyspace().Store.OwnCounts(o.Generation(layout.CountFilter, now) - int64(i))
		testenv.Check(t, err)
		for range fullCounts {
			own.Add(randomHash(r), copies(r))
		}
	}
	closeFull(t, db)
	t.Logf("filled in %v", time.Since(begin).Round(time.Second))
}

// copies returns the number of copies of a message: a tenth of them have several, some many.
func copies(r *rand.Rand) uint32 {
	if r.IntN(10) > 0 {
		return 1
	}
	return uint32(min(10_000, 1/(r.Float64()+1e-5)))
}

// countedSet returns a message with its counting signature only.
func countedSet(r *rand.Rand) signature.Set {
	text := signature.Signature{Kind: signature.KindText}
	for i := range 4 {
		binary.BigEndian.PutUint64(text.Digest[8*i:], r.Uint64())
	}
	return signature.Set{Signatures: []signature.Signature{text}, Counting: []signature.Signature{text}}
}

// makeKilled counts until just before a snapshot is due.
func makeKilled(t *testing.T, clean, killed string) {
	t.Helper()
	copyFolder(t, clean, killed+".running")
	db := openFull(t, killed+".running")
	r := rand.New(rand.NewPCG(3, 4))
	for db.Status().Journal <= 64<<20 {
		for range 10_000 {
			testenv.Check(t, db.Count(countedSet(r), copies(r)))
		}
	}
	testenv.Check(t, db.Maintain())
	t.Logf("journal of %d bytes", db.Status().Journal)
	copyFolder(t, killed+".running", killed)
	closeFull(t, db)
	testenv.Check(t, os.RemoveAll(killed+".running"))
}

func copyFolder(t testing.TB, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-r", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// Measures the start with a full database for contrib/benchmarks.md, together with the test of
// the same name in cmd/spambloomd: the duration of Open and of a snapshot, and the delay of
// messages judged meanwhile.
func TestStartFigures(t *testing.T) {
	clean, killed := fullFolder(t)
	for name, from := range map[string]string{"clean": clean, "killed": killed} {
		dir := filepath.Join(t.TempDir(), "state")
		copyFolder(t, from, dir)
		begin := time.Now()
		db := openFull(t, dir)
		t.Logf("%s: opened in %v", name, time.Since(begin).Round(time.Millisecond))
		if name == "killed" {
			measureSave(t, db)
		}
		closeFull(t, db)
	}
}

// measureSave writes a snapshot of all filters while messages are judged and counted.
func measureSave(t *testing.T, db *bloomdb.DB) {
	t.Helper()
	for path := range db.Keyspace().Files.Saved {
		db.Keyspace().Files.Saved[path] = folder.Saved{} // as if all had changed
	}
	ctx, stop := context.WithCancel(t.Context())
	var judging sync.WaitGroup
	var took []time.Duration
	judge := func(ctx context.Context) {
		r := rand.New(rand.NewPCG(5, 6))
		took = nil
		for ctx.Err() == nil {
			set := countedSet(r)
			begin := time.Now()
			if err := db.Count(set, 1); err != nil {
				t.Error(err)
				return
			}
			db.Judge(set)
			took = append(took, time.Since(begin))
			time.Sleep(200 * time.Microsecond)
		}
	}
	quiet, end := context.WithTimeout(ctx, 2*time.Second)
	judge(quiet)
	end()
	t.Logf("no snapshot: count and judge %s", quantiles(took))
	judging.Go(func() { judge(ctx) })
	begin := time.Now()
	if err := db.Save(); err != nil {
		t.Error(err)
	}
	lasted := time.Since(begin)
	stop()
	judging.Wait()
	t.Logf("snapshot of all filters: %v; count and judge meanwhile %s", lasted.Round(time.Millisecond), quantiles(took))
}

func quantiles(took []time.Duration) []time.Duration {
	slices.Sort(took)
	at := func(q float64) time.Duration { return took[min(len(took)-1, int(q*float64(len(took))))] }
	return []time.Duration{at(0.5), at(0.99), at(0.999), at(1)}
}
