package bloomdb

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// mendIdentity writes the identity of a folder from its other files. It begins a new
// life, which carries the filters of the one before over: the numbers that were given to
// deltas are lost.
func (m *mending) mendIdentity(o *settings, keyID, folder string, fault error) error {
	id := identity{
		Version: identityVersion, Site: o.Site, KeyID: keyID,
		ReportPeriod: int64(o.Reports.Period / time.Second),
		CountPeriod:  int64(o.Counts.Period / time.Second),
		Republish:    true,
	}
	if keys := headKeys(folder); len(keys) > 0 {
		id.KeyID = keys[0]
	}
	if key, ok := strings.CutPrefix(filepath.Base(folder), keyFolderPrefix); ok {
		id.KeyID = key
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	epoch := uint64(0)
	for _, e := range entries {
		_, own := parseOwnPath(e.Name())
		_, votes := parseOwnVotesPath(e.Name())
		_, mask := parseMaskPath(e.Name())
		if own || votes || mask || e.Name() == segmentsFile {
			id.Snapshots = append(id.Snapshots, e.Name())
		}
		if own {
			if s, _, ok := snapshotHead(filepath.Join(folder, e.Name())); ok {
				epoch = max(epoch, s.origin.epoch)
			}
		}
	}
	if id.Epoch = nextLife(epoch, true); epoch == 0 {
		id.Epoch = newEpoch(o.Now())
	}
	path, lost := identityPath(folder), "how far changes were published, which is done anew; which sites are muted: mute them again"
	if _, err := os.Lstat(path); err == nil {
		data, err := salvage(path)
		if err != nil {
			return err
		}
		if id.Muted = legibleMuted(data, id.Site); len(id.Muted) > 0 {
			lost = fmt.Sprintf("how far changes were published, which is done anew. Check who is muted; it may be incomplete: %s", mutedNames(id.Muted))
		}
		if err := keepDamaged(path); err != nil {
			return err
		}
	} else if err := leaveMark(path); err != nil {
		return err
	}
	m.note(path, fault.Error(), lost)
	return id.write(folder)
}

// isForeign reports whether an identity is of another site or key than all of the filters
// beside it, which are of the site that is repaired.
func isForeign(id identity, folder, site string) bool {
	entries, _ := os.ReadDir(folder) // a folder that cannot be read has none
	filters := 0
	for _, e := range entries {
		if _, own := parseOwnPath(e.Name()); !own {
			continue
		}
		s, keyID, ok := snapshotHead(filepath.Join(folder, e.Name()))
		switch {
		case !ok:
		case s.origin.site != site, id.Site == site && id.KeyID == hex.EncodeToString(keyID[:]):
			return false
		default:
			filters++
		}
	}
	return filters > 0
}

// legibleMuted are the muted sites of a damaged identity, as far as it can be read.
func legibleMuted(data []byte, self string) []mutedSite {
	var id identity
	line, _, _ := bytes.Cut(data, []byte("\n"))
	if json.Unmarshal(line, &id) != nil {
		return nil
	}
	muted := slices.DeleteFunc(id.Muted, func(m mutedSite) bool { return !ValidSite(m.Site) || m.Site == self })
	slices.SortFunc(muted, func(a, b mutedSite) int { return compareMuted(a, b.Site) })
	muted = slices.CompactFunc(muted, func(a, b mutedSite) bool { return a.Site == b.Site })
	return muted[:min(len(muted), maxMuted)]
}

func mutedNames(muted []mutedSite) string {
	var names []string
	for _, m := range muted {
		names = append(names, m.Site)
	}
	return strings.Join(names, ", ")
}

// snapshotHead reads the head of a snapshot under whatever key it was made.
func snapshotHead(path string) (s snapshot, keyID [8]byte, ok bool) {
	f, _, err := openLegible(path)
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
	s, _, err = decodeSnapshotHead(&checkedReader{r: in}, keyID)
	return s, keyID, err == nil
}

// headKeys are the ids of the federation keys under which journal and own filters of one
// folder were made, each once.
func headKeys(folder string) (ids []string) {
	entries, _ := os.ReadDir(folder) // a folder that cannot be read has none
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		var id [8]byte
		ok := false
		if strings.HasPrefix(e.Name(), "journal-") {
			if data, err := readLegible(path); err == nil {
				id, ok = journalKey(data)
			}
		} else if _, own := parseOwnPath(e.Name()); own {
			_, id, ok = snapshotHead(path)
		}
		if text := hex.EncodeToString(id[:]); ok && !slices.Contains(ids, text) {
			ids = append(ids, text)
		}
	}
	return ids
}

// FolderKeys are the ids of the federation keys that the files of a state folder were
// made under. It needs no key.
func FolderKeys(dir string) (ids []string) {
	folders, err := keyFolders(dir)
	if err != nil {
		return nil
	}
	for _, folder := range folders {
		id, err := readIdentity(folder)
		if err == nil {
			ids = append(ids, id.KeyID)
			continue
		}
		ids = append(ids, headKeys(folder)...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// FolderSigners are the public keys, as PublicKey gives them, with which the site of a
// state folder signed its records last.
func FolderSigners(dir string) (keys []string) {
	folders, err := keyFolders(dir)
	if err != nil {
		return nil
	}
	for _, folder := range folders {
		if id, err := readIdentity(folder); err == nil && id.Signer != "" {
			keys = append(keys, id.Signer)
		}
	}
	return keys
}

// MendKey finds the federation key that differs from a damaged key file in one byte and
// has one of the ids; ok is false where there is none. It writes nothing.
func MendKey(path string, ids []string) (key [32]byte, ok bool) {
	mendFile(path, func(text string) bool {
		raw, err := hex.DecodeString(text)
		if err != nil || len(raw) != len(key) {
			return false
		}
		key, ok = [32]byte(raw), slices.Contains(ids, KeyID([32]byte(raw)))
		return ok
	})
	return key, ok
}

// MendSigningKey is MendKey for a site's own key and its public halves.
func MendSigningKey(path string, public []string) (key ed25519.PrivateKey, ok bool) {
	mendFile(path, func(text string) bool {
		var err error
		key, err = parseSigningKey(text)
		ok = err == nil && slices.Contains(public, PublicKey(key))
		return ok
	})
	return key, ok
}

// maxKeyFile is the length of the longest key file that is searched.
const maxKeyFile = 256

// mendFile tries a file's text, and each text that differs from it in one byte, until
// one is right.
func mendFile(path string, right func(text string) bool) {
	data, err := os.ReadFile(path)
	if err != nil || len(data) > maxKeyFile {
		return
	}
	if right(strings.TrimSpace(string(data))) {
		return
	}
	for i, was := range data {
		for b := range 128 {
			data[i] = byte(b)
			if right(strings.TrimSpace(string(data))) {
				return
			}
		}
		data[i] = was
	}
}

// ReplaceKey writes a federation key in the place of a damaged one.
func ReplaceKey(path string, key [32]byte) error {
	return replaceKeyFile(path, func(temp string) error { return WriteKey(temp, key) })
}

// ReplaceSigningKey likewise.
func ReplaceSigningKey(path string, key ed25519.PrivateKey) error {
	return replaceKeyFile(path, func(temp string) error { return WriteSigningKey(temp, key) })
}

// replaceKeyFile leaves no copy of the damaged key: it gives the key away.
func replaceKeyFile(path string, write func(temp string) error) error {
	temp := path + ".repaired"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := write(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
