package keyspace_test

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/explain"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/keyspace/keyspacetest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/sketch/sketchtest"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunModels(m, 10)) }

func config(dir string, clock *keyspacetest.Clock) keyspace.Config {
	return keyspacetest.Config(dir, "a", clock.Now)
}

// traces returns the traces of message n.
func traces(ks *keyspace.Keyspace, n int) []explain.Trace {
	return explain.Signatures([]*keyspace.Keyspace{ks}, keyspacetest.Message(n))
}

// isListed reports whether a message was reported, and isRevoked whether it was revoked.
func isListed(ks *keyspace.Keyspace, n int) bool {
	return slices.ContainsFunc(traces(ks, n), func(t explain.Trace) bool { return len(t.Spam) > 0 })
}

func isRevoked(ks *keyspace.Keyspace, n int) bool {
	return slices.ContainsFunc(traces(ks, n), func(t explain.Trace) bool { return len(t.Revoked) > 0 })
}

// Mail without a proven sender, which is most mail at most sites, costs no hashes of its features.
func TestUnprovenMailIsNotHashed(t *testing.T) {
	clock := keyspacetest.NewClock()
	ks := keyspacetest.Open(t, config(t.TempDir(), clock))
	set := keyspacetest.Message(1)
	set.Sketches = []signature.Sketch{sketchtest.RandomWords(rand.New(rand.NewPCG(1, 2)), 300).Sketch()}
	learn := func(sender string) (learned bool, allocations float64) {
		allocations = testing.AllocsPerRun(10, func() { learned = ks.Learn(set, commonness.Mail{Sender: sender, At: clock.Now()}) })
		return learned, allocations
	}
	if learned, n := learn("shop.example"); !learned || n == 0 {
		t.Fatalf("proven: learned %v, %v allocations", learned, n)
	}
	if learned, n := learn(""); learned || n != 0 {
		t.Errorf("not proven: learned %v, %v allocations", learned, n)
	}
}

// A set that cannot be written is rejected by name.
func TestUnwritableSet(t *testing.T) {
	ks := keyspacetest.Open(t, config(t.TempDir(), keyspacetest.NewClock()))
	sketchOnly := signature.Set{Sketches: []signature.Sketch{{Kind: signature.KindSketch}}}
	tooMany := signature.Set{Signatures: make([]signature.Signature, journal.MaxKeys+1)}
	for name, c := range map[string]struct {
		set                signature.Set
		writable, storable string // part of the error; "": none
	}{
		"nothing":             {signature.Set{}, "too little content", "too little content"},
		"a sketch only":       {sketchOnly, "too little content", ""},
		"too many signatures": {tooMany, "must be at most", "must be at most"},
		"a message":           {keyspacetest.Message(1), "", ""},
	} {
		for call, r := range map[string]struct {
			err  error
			want string
		}{"Writable": {ks.Writable(c.set), c.writable}, "Storable": {ks.Storable(c.set), c.storable}} {
			if (r.err == nil) != (r.want == "") || r.err != nil && !strings.Contains(r.err.Error(), r.want) {
				t.Errorf("%s, %s: %v, want %q", name, call, r.err, r.want)
			}
		}
	}
	testenv.Check(t, ks.Close())
	if err := ks.Writable(keyspacetest.Message(1)); !errors.Is(err, layout.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if err := ks.Close(); !errors.Is(err, layout.ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
}

// fullFile is a file of the journal that takes no more bytes once full is set.
type fullFile struct {
	journal.SegmentFile
	full *bool
}

func (f fullFile) Write(b []byte) (int, error) {
	if *f.full {
		return 0, syscall.ENOSPC
	}
	return f.SegmentFile.Write(b)
}

// After a failed write, nothing of the report is listed, before and after a restart. Once the disk
// has room, the report can be retried.
func TestFullDisk(t *testing.T) {
	clock := keyspacetest.NewClock()
	c := config(t.TempDir(), clock)
	full := false
	c.NewFile = func(path string) (journal.SegmentFile, error) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		return fullFile{f, &full}, err
	}
	ks := keyspacetest.Open(t, c)
	testenv.Check(t, keyspacetest.Report(ks, layout.SpamFilter, keyspacetest.Message(1)))
	full = true
	if err := keyspacetest.Report(ks, layout.SpamFilter, keyspacetest.Message(2)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full disk: %v", err)
	}
	if isListed(ks, 2) || !isListed(ks, 1) {
		t.Errorf("listed: %v, %v; want only the first one", isListed(ks, 1), isListed(ks, 2))
	}
	copied := t.TempDir() // as a crash would leave the folder
	testenv.Check(t, os.CopyFS(copied, os.DirFS(c.Settings.Dir)))
	again := keyspacetest.Open(t, config(copied, clock))
	if isListed(again, 2) || !isListed(again, 1) {
		t.Errorf("after a restart, listed: %v, %v; want only the first one", isListed(again, 1), isListed(again, 2))
	}
	full = false
	if err := keyspacetest.Report(ks, layout.SpamFilter, keyspacetest.Message(2)); err != nil || !isListed(ks, 2) {
		t.Errorf("retried: %v, listed %v", err, isListed(ks, 2))
	}
}

// Load rejects the folder of another site, key or period, and one with a missing snapshot. It
// changes nothing there.
func TestLoadRejects(t *testing.T) {
	clock := keyspacetest.NewClock()
	dir := t.TempDir()
	ks := keyspacetest.Open(t, config(dir, clock))
	testenv.Check(t, errors.Join(keyspacetest.Report(ks, layout.SpamFilter, keyspacetest.Message(1)), ks.Close()))
	for name, c := range map[string]struct {
		change func(c *keyspace.Config)
		want   error
	}{
		"site":           {func(c *keyspace.Config) { c.Settings.Site = "b" }, layout.ErrIdentity},
		"key":            {func(c *keyspace.Config) { c.Key[0]++ }, layout.ErrIdentity},
		"report period":  {func(c *keyspace.Config) { c.Settings.Reports.Period *= 2 }, layout.ErrIdentity},
		"count period":   {func(c *keyspace.Config) { c.Settings.Counts.Period *= 2 }, layout.ErrIdentity},
		"missing folder": {func(c *keyspace.Config) { c.Settings.Dir = filepath.Join(dir, "missing") }, os.ErrNotExist},
	} {
		other := config(dir, clock)
		c.change(&other)
		if err := keyspace.New(other).Load(); !errors.Is(err, c.want) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if again := keyspacetest.Open(t, config(dir, clock)); !isListed(again, 1) {
		t.Error("the report is lost")
	} else if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	testenv.Check(t, os.Remove(filepath.Join(dir, "spam-2930.snapshot")))
	var damage *folder.DamageError
	if err := keyspace.New(config(dir, clock)).Load(); !errors.As(err, &damage) || !errors.Is(err, folder.ErrMissing) {
		t.Errorf("a missing snapshot: %v", err)
	}
}

// A revocation is also written to later generations, which were begun while the clock was ahead.
func TestRevocationAfterClockAhead(t *testing.T) {
	clock := keyspacetest.NewClock()
	ks := keyspacetest.Open(t, config(t.TempDir(), clock))
	clock.Add(168 * time.Hour)
	testenv.Check(t, keyspacetest.Report(ks, layout.SpamFilter, keyspacetest.Message(1)))
	clock.Add(-168 * time.Hour)
	testenv.Check(t, keyspacetest.Report(ks, layout.RevokedFilter, keyspacetest.Message(1)))
	for _, trace := range traces(ks, 1) {
		if trace.Stands() || len(trace.Revoked) != 2 {
			t.Errorf("revoked in %d generations, still listed: %v", len(trace.Revoked), trace.Stands())
		}
	}
}

// The previous key is needed until the reports from before the key change have expired.
func TestPreviousUntil(t *testing.T) {
	clock := keyspacetest.NewClock()
	ks := keyspacetest.Open(t, config(t.TempDir(), clock))
	testenv.Check(t, keyspacetest.Report(ks, layout.SpamFilter, keyspacetest.Message(1)))
	until := ks.PreviousUntil()
	if clock.Add(until.Sub(clock.Now()) - time.Second); !isListed(ks, 1) {
		t.Error("expired before that time")
	}
	if clock.Add(time.Second); isListed(ks, 1) {
		t.Error("listed after that time")
	}
	if got := ks.PreviousUntil(); !got.Equal(until) {
		t.Errorf("%v, before %v", got, until)
	}
}

// The command that removes an unused keyspace is safe for any path, and messages that are only on its
// never-list are counted.
func TestNameUnused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's here")
	below := folder.KeyFolder(dir, "0011223344556677")
	testenv.Check(t, os.MkdirAll(below, 0o700))
	clock := keyspacetest.NewClock()
	old := config(below, clock)
	old.Key[0]++
	testenv.Check(t, keyspacetest.Open(t, old).Close())
	name := layout.NewShortID(keyspacetest.Message(1).Signatures[0])
	testenv.Check(t, os.WriteFile(never.Path(below, name), nil, 0o600))
	log := new(bytes.Buffer)
	c := config(dir, clock)
	c.Settings.Log = slog.New(slog.NewTextHandler(log, nil))
	ks := keyspacetest.Open(t, c)
	ks.NameUnused(dir)
	text := log.String()
	for _, want := range []string{`rm -r '`, `it'\\''s here/key-0011223344556677'`, "messages=1"} {
		if !strings.Contains(text, want) {
			t.Errorf("log %s lacks %q", text, want)
		}
	}
	if strings.Count(text, "may be removed") != 1 {
		t.Errorf("log %s names not one keyspace", text)
	}
	log.Reset()
	if ks.NameUnused(filepath.Join(dir, "missing")); log.Len() > 0 {
		t.Errorf("a missing folder: %s", log)
	}
}

// state is what a keyspace must contain, in the model.
type state struct{ listed, revoked map[int]bool }

// Reports and revocations that were acknowledged are found after any order of snapshots, crashes and
// restarts, and no others are.
func TestKeyspaceModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, clock := t.TempDir(), keyspacetest.NewClock()
		want := state{make(map[int]bool), make(map[int]bool)}
		var ks *keyspace.Keyspace
		load := func() {
			ks = keyspace.New(config(dir, clock))
			if err := ks.Load(); err != nil {
				rt.Fatal(err)
			}
		}
		load()
		enter := func(rt *rapid.T, kind layout.Kind, known map[int]bool) {
			n := rapid.IntRange(0, 9).Draw(rt, "message")
			if err := keyspacetest.Report(ks, kind, keyspacetest.Message(n)); err != nil {
				rt.Fatal(err)
			}
			known[n] = true
		}
		rt.Repeat(map[string]func(*rapid.T){
			"report": func(rt *rapid.T) { enter(rt, layout.SpamFilter, want.listed) },
			"revoke": func(rt *rapid.T) { enter(rt, layout.RevokedFilter, want.revoked) },
			"save": func(rt *rapid.T) {
				if err := ks.Save(); err != nil {
					rt.Fatal(err)
				}
			},
			"tick": func(rt *rapid.T) {
				clock.Add(time.Second)
				if err := ks.Tick(); err != nil {
					rt.Fatal(err)
				}
			},
			"crash": func(*rapid.T) { load() },
			"restart": func(rt *rapid.T) {
				if err := ks.Close(); err != nil {
					rt.Fatal(err)
				}
				load()
			},
			"": func(rt *rapid.T) {
				for n := range 10 {
					if isListed(ks, n) != want.listed[n] || isRevoked(ks, n) != want.revoked[n] {
						rt.Errorf("message %d: listed %v, revoked %v", n, isListed(ks, n), isRevoked(ks, n))
					}
				}
			},
		})
		if err := errors.Join(ks.Check(), ks.Close()); err != nil {
			rt.Fatal(err)
		}
	})
}
