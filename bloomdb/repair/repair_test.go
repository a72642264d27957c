package repair_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/keyspace/keyspacetest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/mask"
	"github.com/spambloom/spambloom/bloomdb/repair"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunModels(m, 10)) }

// files returns the files of an empty folder, and the log.
func files(t *testing.T) (*repair.Files, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	o := &layout.Settings{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(log, nil))}
	return &repair.Files{Opt: o, Saved: make(map[string]folder.Saved)}, log
}

func write(t *testing.T, path, content string) {
	t.Helper()
	testenv.Check(t, os.WriteFile(path, []byte(content), 0o600))
}

// Only files without reports of this site can be set aside. Every file has a cost.
func TestExpendable(t *testing.T) {
	for name, want := range map[string]bool{
		"identity":                      false,
		"journal-3":                     false,
		"spam-2930.snapshot":            false,
		"revoked-2930.snapshot":         false,
		"sketches-2930.snapshot":        false,
		"reports.db":                    false,
		"spam-2930.snapshot.old":        false,
		"counts-20516.snapshot":         true,
		"classes-2930.snapshot":         true,
		"domains-2930.snapshot":         true,
		"spam-2930.mask":                true,
		"own-2929.votes":                true,
		"site-b-1772600767000.snapshot": true,
		"site-b.votes":                  true,
		"segments":                      true,
		"clock":                         true,
	} {
		if repair.Expendable(name) != want {
			t.Errorf("%s: expendable %v", name, !want)
		}
		if repair.CostOf(name) == "" {
			t.Errorf("%s has no cost", name)
		}
	}
}

// An error that is not damage, and damage to reports, is returned as it is; the file stays.
func TestNotContained(t *testing.T) {
	f, log := files(t)
	path := filepath.Join(f.Opt.Dir, "spam-2930.snapshot")
	write(t, path, "x")
	for _, err := range []error{nil, fs.ErrPermission, fmt.Errorf("%s: %w", path, layout.ErrNewer), folder.Damaged(path, 3, errors.New("torn"))} {
		if got := f.Contain(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	if _, err := os.Stat(path); err != nil || len(f.DamagedFiles()) > 0 || log.Len() > 0 {
		t.Errorf("%v, set aside %v, log %s", err, f.DamagedFiles(), log)
	}
	gone := filepath.Join(f.Opt.Dir, "counts-1.snapshot")
	var damage *folder.DamageError
	if err := f.Contain(folder.Damaged(gone, 0, errors.New("torn"))); !errors.As(err, &damage) || !strings.Contains(err.Error(), "set aside") {
		t.Errorf("a file that cannot be renamed: %v", err)
	}
}

// A damaged file without reports is set aside under its name, logged, and listed until it is removed.
func TestContained(t *testing.T) {
	for name, domains := range map[string]bool{"counts-20516.snapshot": false, "domains-2930.snapshot": true, "site-b.votes": false} {
		t.Run(name, func(t *testing.T) {
			f, log := files(t)
			path := filepath.Join(f.Opt.Dir, name)
			write(t, path, "x")
			f.Saved[path] = folder.Saved{Changes: 7}
			testenv.Check(t, f.Contain(folder.Damaged(path, 3, errors.New("torn"))))
			if data, err := os.ReadFile(path + folder.DamagedSuffix); err != nil || string(data) != "x" {
				t.Errorf("%q, %v", data, err)
			}
			if _, isSaved := f.Saved[path]; isSaved || f.DomainsLost != domains {
				t.Errorf("saved %v, domains lost %v", isSaved, f.DomainsLost)
			}
			if text := log.String(); !strings.Contains(text, "torn") || !strings.Contains(text, repair.CostOf(name)) {
				t.Errorf("log %s", text)
			}
			want := []folder.DamagedFile{{Name: name + folder.DamagedSuffix, Cost: repair.CostOf(name)}}
			if got := f.DamagedFiles(); !slices.Equal(got, want) {
				t.Errorf("listed %v, want %v", got, want)
			}
			entries, err := os.ReadDir(f.Opt.Dir)
			testenv.Check(t, err)
			later, _ := files(t)
			later.Opt.Dir = f.Opt.Dir
			if later.FindDamaged(entries); !slices.Equal(later.DamagedFiles(), want) {
				t.Errorf("at the next start %v", later.DamagedFiles())
			}
			if err := later.Missing(name, entries); err != nil || len(later.DamagedFiles()) != 1 || later.DomainsLost != domains {
				t.Errorf("the crash before the next snapshot: %v, %v", err, later.DamagedFiles())
			}
			testenv.Check(t, os.Remove(path+folder.DamagedSuffix))
			if got := f.DamagedFiles(); len(got) > 0 {
				t.Errorf("still listed: %v", got)
			}
		})
	}
}

// A missing file is damage if it contained reports. Repair leaves a mark in its place.
func TestMissing(t *testing.T) {
	f, log := files(t)
	var damage *folder.DamageError
	if err := f.Missing("spam-2930.snapshot", nil); !errors.As(err, &damage) || !errors.Is(err, folder.ErrMissing) {
		t.Errorf("reports: %v", err)
	}
	if err := f.Missing("counts-20516.snapshot", nil); err != nil || len(f.DamagedFiles()) != 1 || !strings.Contains(log.String(), "counts-20516.snapshot") {
		t.Errorf("counts: %v, %v, log %s", err, f.DamagedFiles(), log)
	}
	f.Mending = new(repair.Mending)
	if err := f.Missing("spam-2930.snapshot", nil); err != nil || len(f.Mending.Done) != 1 || f.Mending.Done[0].Lost == "" {
		t.Errorf("in a repair: %v, %+v", err, f.Mending.Done)
	}
	if info, err := os.Stat(filepath.Join(f.Opt.Dir, "spam-2930.snapshot"+folder.DamagedSuffix)); err != nil || info.Size() > 0 {
		t.Errorf("the mark: %v", err)
	}
}

// LoadGenerations skips files that the identity does not name, and sets damaged ones aside.
func TestLoadGenerations(t *testing.T) {
	f, _ := files(t)
	for _, name := range []string{"spam-1.mask", "spam-2.mask", "spam-3.mask", "spam-x.mask", "identity"} {
		write(t, filepath.Join(f.Opt.Dir, name), "x")
	}
	entries, err := os.ReadDir(f.Opt.Dir)
	testenv.Check(t, err)
	var loaded []int64
	load := func(path string, gen int64) error {
		loaded = append(loaded, gen)
		if gen == 3 {
			return folder.Damaged(path, 0, errors.New("torn"))
		}
		return nil
	}
	testenv.Check(t, f.LoadGenerations(mask.Files, entries, []string{"spam-1.mask", "spam-3.mask"}, load))
	if !slices.Equal(loaded, []int64{1, 3}) || len(f.DamagedFiles()) != 1 || len(f.Saved) != 2 {
		t.Errorf("loaded %v, set aside %v, saved %v", loaded, f.DamagedFiles(), f.Saved)
	}
	fault := errors.New("disk")
	if err := f.LoadGenerations(mask.Files, entries, []string{"spam-1.mask"}, func(string, int64) error { return fault }); err != fault {
		t.Error(err)
	}
}

// saved returns the snapshot of a site's spam filter with some reports, and its target.
func saved(t testing.TB, reports int) (data []byte, tg layout.Target) {
	t.Helper()
	ks := keyspacetest.Open(t, keyspacetest.Config(t.TempDir(), "a", keyspacetest.NewClock().Now))
	for n := range reports {
		testenv.Check(t, keyspacetest.Report(ks, layout.SpamFilter, keyspacetest.Message(n)))
	}
	testenv.Check(t, ks.Save())
	tg = layout.Target{Kind: layout.SpamFilter, Gen: ks.Settings.Generation(layout.SpamFilter, ks.Settings.Now())}
	data, err := os.ReadFile(snapshot.OwnPath(ks.Settings.Dir, tg))
	testenv.Check(t, err)
	return data, tg
}

// Blocks with a right checksum are salvaged, wherever the damage is. Nothing else is set.
func TestSalvageBlocks(t *testing.T) {
	const reports = 200
	good, tg := saved(t, reports)
	sec, body, ok := repair.SectionAt(good, "a")
	if !ok || sec.Target != tg {
		t.Fatalf("section %+v, %v", sec, ok)
	}
	all, lost := salvaged(t, good[body:], sec)
	if lost > 0 || all.Ones() == 0 {
		t.Fatalf("an undamaged file: %d bytes lost, %d bits", lost, all.Ones())
	}
	rapid.Check(t, func(rt *rapid.T) {
		bad := slices.Clone(good)
		from := rapid.IntRange(body, len(bad)-1).Draw(rt, "from")
		to := rapid.IntRange(from+1, min(len(bad), from+300)).Draw(rt, "to")
		switch rapid.IntRange(0, 2).Draw(rt, "damage") {
		case 0:
			clear(bad[from:to])
		case 1:
			bad = slices.Delete(bad, from, to)
		case 2:
			bad = bad[:from]
		}
		some, lost := salvaged(t, bad[body:], sec)
		for i := range sec.Shape.Blocks(tg.Kind) {
			got, want := some.Block(i, nil), all.Block(i, nil)
			if len(got) > 0 && !slices.Equal(got, want) {
				rt.Errorf("block %d was made up", i)
			}
		}
		if some.Ones() < all.Ones() && lost == 0 && len(bad) == len(good) {
			rt.Errorf("%d of %d bits are lost, and no byte", all.Ones()-some.Ones(), all.Ones())
		}
	})
}

// salvaged returns the bits in the undamaged blocks of a section, and the number of bytes lost.
func salvaged(t testing.TB, blocks []byte, sec snapshot.Section) (bits *filter.Bits, lost int) {
	t.Helper()
	ks := keyspace.New(keyspacetest.Config(t.TempDir(), "a", keyspacetest.NewClock().Now))
	sec.Period = int64(ks.Settings.Reports.Period.Seconds())
	l := &store.OwnLoader{Store: ks.Store, Want: sec.Target, Site: "a"}
	testenv.Check(t, l.Section(sec))
	return l.Bits, repair.SalvageBlocks(blocks, sec, l)
}

// The head of a section is found only where it is undamaged.
func TestSectionAt(t *testing.T) {
	good, _ := saved(t, 1)
	_, body, _ := repair.SectionAt(good, "a")
	for at := folder.FileHead + 1 + len("a") + 4*8 + 4 + 4; at < body; at++ {
		bad := slices.Clone(good)
		bad[at] ^= 1
		if sec, from, ok := repair.SectionAt(bad, "a"); ok || from != 0 {
			t.Errorf("byte %d: section %+v at %d", at, sec, from)
		}
	}
	for n := range body {
		if _, _, ok := repair.SectionAt(good[:n], "a"); ok {
			t.Errorf("found in %d of %d bytes", n, body)
		}
	}
	if _, _, ok := repair.SectionAt(good, "another"); ok {
		t.Error("found behind the head of a longer name")
	}
}

// A damaged identity is rebuilt in a later epoch; its muted sites are kept as far as they can be read.
func TestMendIdentity(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, path string)
		muted  int
	}{
		"missing": {func(t *testing.T, path string) {
			testenv.Check(t, os.Remove(path))
		}, 0},
		"empty":          {func(t *testing.T, path string) { write(t, path, "") }, 0},
		"wrong checksum": {func(t *testing.T, path string) { change(t, path, -2) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			config := keyspacetest.Config(dir, "a", keyspacetest.NewClock().Now)
			ks := keyspacetest.Open(t, config)
			testenv.Check(t, errors.Join(keyspacetest.Report(ks, layout.SpamFilter, keyspacetest.Message(1)), ks.Peers.SetMuted("b", true), ks.Close()))
			before := ks.Outbox.ID
			c.damage(t, folder.IdentityPath(dir))
			m := new(repair.Mending)
			testenv.Check(t, m.MendIdentities(config.Settings, before.KeyID))
			id, err := folder.ReadIdentity(dir)
			testenv.Check(t, err)
			if id.Site != "a" || id.KeyID != before.KeyID || id.Epoch <= before.Epoch || !folder.CarriesOver(id.Epoch, before.Epoch) || !id.Republish {
				t.Errorf("identity %+v after %+v", id, before)
			}
			if len(id.Muted) != c.muted || len(m.Done) != 1 || !slices.Contains(id.Snapshots, "spam-2930.snapshot") {
				t.Errorf("muted %v, snapshots %v, done %+v", id.Muted, id.Snapshots, m.Done)
			}
			if again := new(repair.Mending); again.MendIdentities(config.Settings, before.KeyID) != nil || len(again.Done) > 0 {
				t.Errorf("a second repair: %+v", again.Done)
			}
			if keys := repair.FolderKeys(dir); !slices.Equal(keys, []string{before.KeyID}) {
				t.Errorf("keys %v", keys)
			}
		})
	}
}

// change changes one byte of a file, counted from its end.
func change(t *testing.T, path string, at int) {
	t.Helper()
	data, err := os.ReadFile(path)
	testenv.Check(t, err)
	data[len(data)+at] ^= 1
	write(t, path, string(data))
}

// An empty folder, and an identity with another fault, are not repaired.
func TestIdentityIsNotMended(t *testing.T) {
	o := keyspacetest.Config(t.TempDir(), "a", keyspacetest.NewClock().Now).Settings
	m := new(repair.Mending)
	if err := m.MendIdentities(o, "0011223344556677"); err != nil || len(m.Done) > 0 {
		t.Errorf("an empty folder: %v, %+v", err, m.Done)
	}
	o.Dir = filepath.Join(o.Dir, "missing")
	if err := m.MendIdentities(o, "0011223344556677"); err == nil {
		t.Error("a missing folder was repaired")
	}
}
