package repair

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/mask"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/bloomdb/vote"
)

// mendIdentity rebuilds the identity of a folder from its other files. The numbers that were
// assigned to deltas are lost, so it begins a new epoch that continues with the filters.
func (m *Mending) mendIdentity(o *layout.Settings, keyID, f string, fault error) error {
	id := folder.Identity{
		Version: folder.IdentityVersion, Site: o.Site, KeyID: keyID,
		ReportPeriod: int64(o.Reports.Period / time.Second),
		CountPeriod:  int64(o.Counts.Period / time.Second),
		Republish:    true,
		Relist:       true, // files may be missing that this identity does not name
	}
	if keys := headKeys(f); len(keys) > 0 {
		id.KeyID = keys[0]
	}
	if key, ok := strings.CutPrefix(filepath.Base(f), folder.KeyFolderPrefix); ok {
		id.KeyID = key
	}
	entries, err := os.ReadDir(f)
	if err != nil {
		return err
	}
	var epoch uint64
	id.Snapshots, epoch = ownFiles(f, entries)
	if id.Epoch = folder.NextEpoch(epoch, true); epoch == 0 {
		id.Epoch = folder.NewEpoch(o.Now())
	}
	path, lost := folder.IdentityPath(f), "the publishing position (a snapshot will be published); the muted sites: mute them again"
	if _, err := os.Lstat(path); err == nil {
		data, _, err := folder.Salvage(path, folder.MaxIdentity)
		if err != nil {
			return err
		}
		if id.Muted = readableMuted(data, id.Site); len(id.Muted) > 0 {
			lost = fmt.Sprintf("the publishing position (a snapshot will be published). Check the muted sites; the list may be incomplete: %s", mutedNames(id.Muted))
		}
		if err := folder.KeepDamaged(path); err != nil {
			return err
		}
	} else if err := folder.LeaveMark(path); err != nil {
		return err
	}
	m.Note(path, fault.Error(), lost)
	return id.Write(f)
}

// ownFiles returns the names of the files that an identity lists, and the latest epoch of this
// site's filters among them; 0 if none can be read.
func ownFiles(dir string, entries []os.DirEntry) (names []string, epoch uint64) {
	for _, e := range entries {
		_, own := snapshot.ParseOwnPath(e.Name())
		_, votes := vote.ParseOwnVotesPath(e.Name())
		_, isMask := mask.ParsePath(e.Name())
		_, isCommon := commonness.Files.Parse(e.Name())
		if own || votes || isMask || isCommon || e.Name() == journal.SegmentsFile {
			names = append(names, e.Name())
		}
		if own {
			if s, _, ok := SnapshotHead(filepath.Join(dir, e.Name())); ok {
				epoch = max(epoch, s.Origin.Epoch)
			}
		}
	}
	return names, epoch
}

// CheckIdentityAge returns an error if the identity of a folder is an older copy: the journal begins
// after the place up to which its snapshots are complete. Muted sites and files of later periods are
// missing in it, and its numbers were assigned to other deltas.
func CheckIdentityAge(id folder.Identity, dir string, entries []os.DirEntry) error {
	begin := uint32(math.MaxUint32)
	for _, e := range entries {
		if n, ok := journal.ParseSegment(e.Name()); ok {
			begin = min(begin, n)
		}
	}
	if begin == math.MaxUint32 || id.SavedLSN == 0 || begin <= id.SavedLSN.Segment() {
		return nil
	}
	return folder.Damaged(folder.IdentityPath(dir), 0, fmt.Errorf("%w: the journal begins at segment %d, the snapshots end at %d", folder.ErrOlder, begin, id.SavedLSN.Segment()))
}

// isForeign reports whether an identity belongs to another site or key than the filters beside it, most
// of which belong to the site that is repaired. Some of them may be another site's, too.
func isForeign(id folder.Identity, folder, site string) bool {
	entries, _ := os.ReadDir(folder) // a folder that cannot be read has none
	balance := 0
	for _, e := range entries {
		if _, own := snapshot.ParseOwnPath(e.Name()); !own {
			continue
		}
		s, keyID, ok := SnapshotHead(filepath.Join(folder, e.Name()))
		switch {
		case !ok:
		case s.Origin.Site != site, id.Site == site && id.KeyID == hex.EncodeToString(keyID[:]):
			balance--
		default:
			balance++
		}
	}
	return balance > 0
}

// readableMuted returns the muted sites of a damaged identity, as far as they can be read.
func readableMuted(data []byte, self string) []folder.MutedSite {
	var id folder.Identity
	line, _, _ := bytes.Cut(data, []byte("\n"))
	if json.Unmarshal(line, &id) != nil {
		return nil
	}
	muted := slices.DeleteFunc(id.Muted, func(m folder.MutedSite) bool { return !layout.ValidSite(m.Site) || m.Site == self })
	slices.SortFunc(muted, func(a, b folder.MutedSite) int { return folder.CompareMuted(a, b.Site) })
	muted = slices.CompactFunc(muted, func(a, b folder.MutedSite) bool { return a.Site == b.Site })
	return muted[:min(len(muted), peers.MaxMuted)]
}

func mutedNames(muted []folder.MutedSite) string {
	var names []string
	for _, m := range muted {
		names = append(names, m.Site)
	}
	return strings.Join(names, ", ")
}

// SnapshotHead reads the head of a snapshot made under any key.
func SnapshotHead(path string) (s snapshot.File, keyID [8]byte, ok bool) {
	f, _, err := folder.OpenFile(path)
	if err != nil {
		return s, keyID, false
	}
	defer f.Close()
	in := bufio.NewReader(f)
	start, err := in.Peek(18)
	if err != nil {
		return s, keyID, false
	}
	keyID = [8]byte(start[10:18])
	s, _, err = snapshot.DecodeHead(&folder.CheckedReader{R: in}, keyID)
	return s, keyID, err == nil
}

// headKeys returns the distinct ids of the federation keys under which journal and own filters of
// one folder were made.
func headKeys(f string) (ids []string) {
	entries, _ := os.ReadDir(f) // a folder that cannot be read has none
	for _, e := range entries {
		path := filepath.Join(f, e.Name())
		var id [8]byte
		ok := false
		if strings.HasPrefix(e.Name(), "journal-") {
			if head, err := folder.ReadHead(path); err == nil {
				id, ok = JournalKey(head[:])
			}
		} else if _, own := snapshot.ParseOwnPath(e.Name()); own {
			_, id, ok = SnapshotHead(path)
		}
		if text := hex.EncodeToString(id[:]); ok && !slices.Contains(ids, text) {
			ids = append(ids, text)
		}
	}
	return ids
}

// FolderKeys returns the ids of the federation keys under which the files of a state folder were
// made. It needs no key.
func FolderKeys(dir string) (ids []string) {
	folders, err := folder.KeyFolders(dir)
	if err != nil {
		return nil
	}
	for _, f := range folders {
		id, err := folder.ReadIdentity(f)
		if err == nil {
			ids = append(ids, id.KeyID)
			continue
		}
		ids = append(ids, headKeys(f)...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// FolderSigners returns the public keys, as formatted by keyring.PublicKey, with which the site of a
// state folder last signed its records.
func FolderSigners(dir string) (keys []string) {
	folders, err := folder.KeyFolders(dir)
	if err != nil {
		return nil
	}
	for _, f := range folders {
		if id, err := folder.ReadIdentity(f); err == nil && id.Signer != "" {
			keys = append(keys, id.Signer)
		}
	}
	return keys
}

// CheckListed returns an error for each file that the identity lists and that is missing, unless it
// is expendable, and for each that is an older copy.
func CheckListed(id folder.Identity, dir string) (err error) {
	for _, name := range id.Snapshots {
		path := filepath.Join(dir, name)
		if _, e := os.Stat(path); e != nil && !Expendable(name) {
			err = errors.Join(err, folder.Damaged(path, 0, folder.ErrMissing))
		}
		if s, _, ok := SnapshotHead(path); ok {
			err = errors.Join(err, id.CheckAge(path, folder.LSN(s.Seq)))
		}
	}
	return err
}
