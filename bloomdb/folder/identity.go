package folder

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/spambloom/spambloom/bloomdb/layout"
)

// Identity is the file "identity": whose state the folder holds, and how much of
// it other sites were told. It is one line of JSON and one of its CRC32C.
type Identity struct {
	Version      int    `json:"version"`
	Site         string `json:"site"`
	Epoch        uint64 `json:"epoch"` // the folder's life: see NewEpoch
	KeyID        string `json:"key_id"`
	ReportPeriod int64  `json:"report_period"` // seconds
	CountPeriod  int64  `json:"count_period"`  // seconds

	// Published are the last number that was published or left out, and the place in
	// the journal before which nothing is left to be published. Tail is the number
	// with which the stream ends, Reserved the last one given to a delta: none is
	// given to two.
	PublishedSeq uint64 `json:"published_seq"`
	TailSeq      uint64 `json:"tail_seq"`
	ReservedSeq  uint64 `json:"reserved_seq"`
	PublishedLSN LSN    `json:"published_lsn"`
	// LeftSeq is the last number that was left out.
	LeftSeq uint64 `json:"left_seq,omitempty"`
	// Republish says that stream and journal no longer have all that other sites
	// must know: a snapshot has to be published.
	Republish bool `json:"republish,omitempty"`

	// DomainsLSN is the place in the journal before which counts of link domains were lost
	// and begin anew.
	DomainsLSN LSN `json:"domains_lsn,omitempty"`

	// Signer is the public half of the key with which this site signs its records.
	Signer string `json:"signer,omitempty"`

	// Muted are the sites whose influence was taken away, by name.
	Muted []MutedSite `json:"muted,omitempty"`

	// Snapshots are the files without which the folder is not whole.
	Snapshots []string `json:"snapshots"`

	// Companions are likewise files that the database does not keep itself, by their paths
	// relative to the folder.
	Companions []string `json:"companions,omitempty"`
}

// Segment is the newest segment of the journal in which the identity knows a place.
func (id Identity) Segment() uint32 { return max(id.PublishedLSN, id.DomainsLSN).Segment() }

const IdentityVersion = 1

func IdentityPath(dir string) string { return filepath.Join(dir, "identity") }

// Encode returns the file: the line of JSON and that of its checksum.
func (id Identity) Encode() ([]byte, error) {
	line, err := json.Marshal(id)
	return append(append(line, '\n'), checksumLine(line)...), err
}

func (id Identity) Write(dir string) error {
	data, err := id.Encode()
	if err != nil {
		return err
	}
	path := IdentityPath(dir)
	if err := renameio.WriteFile(path, data, 0o600, renameio.WithTempDir(dir)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return SyncDir(dir)
}

func checksumLine(line []byte) string {
	return fmt.Sprintf("crc32c %08x\n", crc32.Checksum(line, Castagnoli))
}

// ReadIdentity returns an error that wraps os.ErrNotExist for a new folder, and one that
// wraps ErrNewer for a newer version.
func ReadIdentity(dir string) (id Identity, err error) {
	path := IdentityPath(dir)
	data, err := ReadLegible(path)
	if err != nil {
		return id, err
	}
	line, sum, _ := bytes.Cut(data, []byte("\n"))
	if want := checksumLine(line); string(sum) != want {
		return id, Damaged(path, int64(len(line)), fmt.Errorf("checksum line is %q, should be %q", sum, want))
	}
	var of struct{ Version int } // first: a newer version may have other types
	err = json.Unmarshal(line, &of)
	switch {
	case err == nil && of.Version > IdentityVersion:
		err = layout.Newer(of.Version, IdentityVersion)
	case err == nil && of.Version < IdentityVersion:
		err = fmt.Errorf("version %d, this program reads %d", of.Version, IdentityVersion)
	case err == nil:
		err = json.Unmarshal(line, &id)
	}
	if err != nil {
		return id, Damaged(path, 0, err)
	}
	return id, nil
}

// Check compares the folder's identity with what the options say.
func (id Identity) Check(o *layout.Settings, keyID [8]byte) error {
	switch path, key := IdentityPath(o.Dir), hex.EncodeToString(keyID[:]); {
	case id.Site != o.Site:
		return fmt.Errorf("%s: %w: it is of site %q, the name given is %q", path, layout.ErrIdentity, id.Site, o.Site)
	case id.KeyID != key:
		return fmt.Errorf("%s: %w: it was made under federation key %s, the key given is %s", path, layout.ErrIdentity, id.KeyID, key)
	case id.ReportPeriod != int64(o.Reports.Period.Seconds()):
		return fmt.Errorf("%s: %w: the report period was %d s, the one given is %s", path, layout.ErrIdentity, id.ReportPeriod, o.Reports.Period)
	case id.CountPeriod != int64(o.Counts.Period.Seconds()):
		return fmt.Errorf("%s: %w: the count period was %d s, the one given is %s", path, layout.ErrIdentity, id.CountPeriod, o.Counts.Period)
	}
	return nil
}

// HasState reports whether a folder holds the state of a site, under whatever key.
func HasState(dir string) bool {
	entries, _ := os.ReadDir(dir) // a folder that is not there holds none
	return holdsIdentity(dir) || slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasPrefix(e.Name(), KeyFolderPrefix) && holdsIdentity(filepath.Join(dir, e.Name()))
	})
}

// LSN is a place in the journal: segment number and offset in it.
type LSN uint64

func MakeLSN(segment uint32, offset int64) LSN { return LSN(segment)<<40 | LSN(offset) }

func (l LSN) Segment() uint32 { return uint32(l >> 40) }

// A site lives in epochs. Which one it lives in, and which numbers it has given, stands
// in the identity and in records that the site has signed, and nowhere else: ids in
// Redis are written by anybody.

// NewEpoch names the life of a folder made at a time, in milliseconds since
// 1970. It is even. A life that goes on with the filters of the one before, since
// that one's numbers can't be used any more, is odd: its counts hold those of the
// life before, and are not added to them. A life is even, too, that only comes after
// another one: the folder was lost, and the clock was put back.
func NewEpoch(now time.Time) uint64 { return uint64(max(2, now.UnixMilli())) &^ 1 }

// NextLife is the least odd epoch after another, or the least even one where the life
// does not carry over what others hold of the one before.
func NextLife(epoch uint64, carries bool) uint64 {
	if carries {
		return (epoch + 1) | 1
	}
	return (epoch + 2) &^ 1
}

// MaxCarried is how far apart, at most, the epochs are of lives that began with each
// other's filters: each takes the least odd number after the one before. Folders
// are made at times that differ by more.
const MaxCarried = 64

// CarriesOver reports whether a life began with the filters of an earlier one, or with
// those of one that did.
func CarriesOver(epoch, earlier uint64) bool { return epoch&1 == 1 && epoch-earlier <= MaxCarried }

// Enter begins a life with the given epoch. It has published nothing yet, and must publish
// a snapshot first.
func (id *Identity) Enter(epoch uint64) {
	id.Epoch, id.Republish = epoch, true
	id.PublishedSeq, id.TailSeq, id.ReservedSeq, id.LeftSeq = 0, 0, 0, 0
}

// MutedSite is a site whose influence was taken away; the identity lists them, by
// name.
type MutedSite struct {
	Site    string `json:"site"`
	Dropped bool   `json:"dropped,omitempty"` // nothing of it is held either
	Since   int64  `json:"since"`             // seconds since 1970
}

func CompareMuted(m MutedSite, site string) int { return strings.Compare(m.Site, site) }
