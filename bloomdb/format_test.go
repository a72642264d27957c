package bloomdb_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/mask"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// raised returns a file with the next version number and correct checksums; nil for a file
// without a version.
func raised(t *testing.T, db *bloomdb.DB, data []byte) []byte {
	t.Helper()
	data = bytes.Clone(data)
	line, _, _ := bytes.Cut(data, []byte("\n"))
	switch fields := make(map[string]any); {
	case json.Unmarshal(line, &fields) == nil:
		fields["version"], fields["snapshots"] = 2, "all" // another type than in version 1
		line, err := json.Marshal(fields)
		must(t, err)
		return append(append(line, '\n'), fmt.Sprintf("crc32c %08x\n", crc32.Checksum(line, folder.Castagnoli))...)
	case string(data[:4]) == "SBRC":
		data[4]++
		mac := bloomdbtest.Ring.Keyed.Sum(keyring.PurposeRecord, data[:len(data)-32])
		return append(data[:len(data)-32], mac[:]...)
	}
	for _, f := range bloomdb.FileForms() {
		if string(data[:8]) != f.Magic {
			continue
		}
		binary.BigEndian.PutUint16(data[8:], f.Version+1)
		copy(data, folder.Seal(data[:folder.FileHead-4]))
		return folder.Seal(data[:len(data)-4]) // not of a journal or snapshot, whose newer versions may end differently
	}
	return nil
}

// contentOf returns all files of a folder.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, name := range allFiles(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		all[name] = string(data)
	}
	return all
}

// Open and Repair reject a file of a newer version by name, and nothing in the folder changes:
// also with a damaged file beside it, and under any federation key.
func TestNewerFiles(t *testing.T) {
	root := ramDir(t)
	good, work := filepath.Join(root, "good"), filepath.Join(root, "work")
	fillFolder(t, good, false)
	must(t, os.WriteFile(filepath.Join(good, clock.File), stampOf(repairOptions(good).Now()), 0o600))
	key := bloomdbtest.Open(t, repairOptions(t.TempDir()))
	missing := make(map[string]bool)
	for _, f := range bloomdb.FileForms() {
		missing[f.Magic] = true
	}
	for _, name := range allFiles(t, good) {
		data, err := os.ReadFile(filepath.Join(good, name))
		must(t, err)
		newer := raised(t, key, data)
		if newer == nil {
			t.Errorf("%s has no version", name)
			continue
		}
		delete(missing, string(data[:8]))
		isRecord := store.IsVotesPath(name)
		for _, damage := range []bool{false, true} {
			copyDir(t, good, work)
			if damage && !isRecord { // a record is verified with the key when files are read
				must(t, os.Truncate(files(t, work, "counts-*.snapshot")[0], 30))
			}
			path := filepath.Join(work, name)
			must(t, os.WriteFile(path, newer, 0o600))
			before := contentOf(t, work)
			for what, open := range map[string]func() error{
				"open":   func() error { _, err := bloomdbtest.TryOpen(repairOptions(work)); return err },
				"repair": func() error { _, _, err := bloomdbtest.Repair(repairOptions(work)); return err },
			} {
				err := open()
				var damaged *folder.DamageError
				if !errors.Is(err, layout.ErrNewer) || errors.As(err, &damaged) || !strings.Contains(err.Error(), path) ||
					!strings.Contains(err.Error(), "newer format (version 2; this program reads 1)") {
					t.Errorf("%s: %s: %v", name, what, err)
				}
			}
			if after := contentOf(t, work); !maps.Equal(after, before) {
				t.Errorf("%s: the folder changed: %v, before %v", name, slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("no file with the form %q", slices.Collect(maps.Keys(missing)))
	}
}

// A file in the folder of a later key is rejected, too. Files that were set aside are not read.
func TestNewerFileElsewhere(t *testing.T) {
	dir := t.TempDir()
	must(t, bloomdbtest.MustOpen(t, repairOptions(dir)).Close())
	newer := raised(t, nil, mask.Form.Begin([8]byte{9}))
	must(t, os.WriteFile(mask.Files.Path(dir, 5)+folder.DamagedSuffix, newer, 0o600))
	must(t, bloomdbtest.MustOpen(t, repairOptions(dir)).Close())
	folder := filepath.Join(dir, folder.KeyFolderPrefix+"0900000000000000")
	must(t, os.Mkdir(folder, 0o700))
	must(t, os.WriteFile(mask.Files.Path(folder, 5), newer, 0o600)) // not in any identity
	if _, err := bloomdbtest.TryOpen(repairOptions(dir)); !errors.Is(err, layout.ErrNewer) || !strings.Contains(err.Error(), folder) {
		t.Error(err)
	}
}

// A flipped version is damage, because the checksum is wrong.
func TestFlippedVersion(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	root := ramDir(t)
	good, work := filepath.Join(root, "good"), filepath.Join(root, "work")
	fillFolder(t, good, true)
	for _, name := range allFiles(t, good) {
		data, err := os.ReadFile(filepath.Join(good, name))
		must(t, err)
		at := 9
		switch {
		case name == "identity":
			at = bytes.Index(data, []byte(`"version":1`)) + len(`"version":`)
		case store.IsVotesPath(name):
			at = 4
		}
		data[at] ^= 2 // 3 in place of 1, also in text
		copyDir(t, good, work)
		must(t, os.WriteFile(filepath.Join(work, name), data, 0o600))
		t.Log(name, damageOutcome(t, work, name, name+" with a flipped version"))
	}
}

// An unknown kind with a correct checksum comes from a newer version. Repair does not discard
// such a record of the journal.
func TestNewerKindInJournal(t *testing.T) {
	dir := t.TempDir()
	fillFolder(t, dir, false)
	path := slices.Max(files(t, dir, "journal-*"))
	data, err := os.ReadFile(path)
	must(t, err)
	data[journal.Header+journal.FrameHeader+3] ^= 1 // and a record before it is damaged
	data = journal.AppendFrame(data, journal.Record{Target: layout.Target{Kind: 200, Gen: 5}, Hashes: hashesOf(bloomdbtest.Message(1))}, 0)
	must(t, os.WriteFile(path, data, 0o600))
	_, _, err = bloomdbtest.Repair(repairOptions(dir))
	var damage *folder.DamageError
	if !errors.Is(err, layout.ErrNewer) || errors.As(err, &damage) || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
		t.Errorf("the journal changed: %v", err)
	}
}

// A record is of a newer version only if a member made it. Any other such record is damaged or
// forged, and is not verified.
func TestNewerRecord(t *testing.T) {
	_, private := newSigningKey(t)
	o := bloomdbtest.Options(t.TempDir(), "b")
	o.SigningKey = private
	b := bloomdbtest.Open(t, o)
	o = bloomdbtest.Options(t.TempDir(), "a")
	o.Members = wire.Members{"b": {Keys: []ed25519.PublicKey{private.Public().(ed25519.PublicKey)}}}
	a := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, b, 1)
	deltas := bloomdbtest.Drain(t, b)
	records := [][]byte{b.Heartbeat(0, 0), deltas[0].Data, mustVotes(t, b)}
	for _, record := range records {
		newer := raised(t, a, record)
		forged := bytes.Clone(record)
		forged[4]++
		for i, read := range []func([]byte) error{
			func(r []byte) error { _, err := a.ReadHeartbeat(r); return err },
			func(r []byte) error { return a.Apply(r, peers.Skipped) },
			func(r []byte) error { _, err := b.OwnRecord(r, wire.RecordHeartbeat); return err },
			a.ApplyVotes,
		} {
			if err := read(newer); !errors.Is(err, layout.ErrNewer) || !errors.Is(err, wire.ErrUnverified) ||
				!strings.Contains(err.Error(), "newer format (version 2; this program reads 1)") {
				t.Errorf("%d: %v", i, err)
			}
			if err := read(forged); errors.Is(err, layout.ErrNewer) || !errors.Is(err, wire.ErrUnverified) {
				t.Errorf("%d: forged: %v", i, err)
			}
		}
	}
	if a.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("a record of a newer version is used")
	}
}

// stampOf returns the content of the file with a certain time.
func stampOf(at time.Time) []byte {
	b := binary.BigEndian.AppendUint64(clock.Form.Begin([8]byte{}), uint64(at.UnixMilli()))
	return folder.Seal(append(b, make([]byte, 8+8)...))
}
