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

// Identity is the file "identity": which site and key a folder belongs to, and how far its
// changes were published. The file is one line of JSON and one line with its CRC32C.
type Identity struct {
	Version      int    `json:"version"`
	Site         string `json:"site"`
	Epoch        uint64 `json:"epoch"` // see NewEpoch
	KeyID        string `json:"key_id"`
	ReportPeriod int64  `json:"report_period"` // seconds
	CountPeriod  int64  `json:"count_period"`  // seconds

	// PublishedSeq is the last number that was published or skipped. TailSeq is the number
	// at the end of the stream. ReservedSeq is the last number that was assigned to a delta:
	// no number is assigned twice. All journal records before PublishedLSN are published.
	PublishedSeq uint64 `json:"published_seq"`
	TailSeq      uint64 `json:"tail_seq"`
	ReservedSeq  uint64 `json:"reserved_seq"`
	PublishedLSN LSN    `json:"published_lsn"`
	// LeftSeq is the last number that was skipped: no delta has it.
	LeftSeq uint64 `json:"left_seq,omitempty"`
	// Republish is set when stream and journal no longer contain all unpublished changes: a
	// snapshot must be published.
	Republish bool `json:"republish,omitempty"`
	// Relist is set while reports of the ledger must still be listed in the folder's filters:
	// they were made while the site did not have its key, or a repair is not finished.
	Relist bool `json:"relist,omitempty"`

	// DomainsLSN is set when counts of link domains were lost: only journal records after it
	// are counted.
	DomainsLSN LSN `json:"domains_lsn,omitempty"`

	// Signer is the public key with which this site signs its records.
	Signer string `json:"signer,omitempty"`

	// Muted are the muted sites, sorted by name.
	Muted []MutedSite `json:"muted,omitempty"`

	// Snapshots are the files that must be present for the folder to be complete.
	Snapshots []string `json:"snapshots"`
	// SavedLSN is where the journal was when Snapshots were last complete: they contain all
	// earlier records. Zero: unknown. Written are the positions at which this site's own filters
	// and masks were written, by name; the files contain their positions, too.
	SavedLSN LSN            `json:"saved_lsn,omitempty"`
	Written  map[string]LSN `json:"written,omitempty"`

	// Companions are files outside the database that must be present too, as paths relative
	// to the folder.
	Companions []string `json:"companions,omitempty"`
	// LastReport is the number of the last report in the ledger, a companion, when the identity was
	// written.
	LastReport uint64 `json:"last_report,omitempty"`
	// JournalEnd is where the journal ended on disk when the identity was written. Zero: unknown.
	JournalEnd LSN `json:"journal_end,omitempty"`
}

// Segment returns the newest journal segment to which the identity refers, and that must be there.
func (id Identity) Segment() uint32 {
	return max(id.PublishedLSN, id.DomainsLSN, id.SavedLSN).Segment()
}

// LastSegment returns the newest journal segment that the identity knows. New ones have higher numbers,
// also if a repair gave up the journal: otherwise a file that a crash separates from the next identity
// would be older than Written says.
func (id Identity) LastSegment() uint32 {
	last := max(id.Segment(), id.JournalEnd.Segment())
	for _, at := range id.Written {
		last = max(last, at.Segment())
	}
	return last
}

// CheckAge returns an error if a file with these names was written before the one that belongs to
// the identity: it is an older copy, for example from a backup, and records of the journal that
// it lacks may be gone. A newer one is of a Save that a crash interrupted.
func (id Identity) CheckAge(path string, at LSN) error {
	if want := id.Written[filepath.Base(path)]; at < want {
		return Damaged(path, 0, fmt.Errorf("%w: it was written at %d, the latest one at %d", ErrOlder, at, want))
	}
	return nil
}

const IdentityVersion = 1

// MaxIdentity bounds the file, in bytes. 4,096 muted sites and the snapshots of 1,024 epochs take less than 1 MiB.
const MaxIdentity = 4 << 20

func IdentityPath(dir string) string { return filepath.Join(dir, "identity") }

// Encode returns the content of the file.
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
	return Sync(dir)
}

func checksumLine(line []byte) string {
	return fmt.Sprintf("crc32c %08x\n", crc32.Checksum(line, Castagnoli))
}

// ReadIdentity reads the identity of a folder. For a new folder it returns an error that wraps
// os.ErrNotExist; for a newer version, one that wraps ErrNewer.
func ReadIdentity(dir string) (id Identity, err error) {
	path := IdentityPath(dir)
	data, err := ReadBounded(path, MaxIdentity)
	if err != nil {
		return id, err
	}
	line, sum, _ := bytes.Cut(data, []byte("\n"))
	if want := checksumLine(line); string(sum) != want {
		return id, Damaged(path, int64(len(line)), fmt.Errorf("checksum line is %q, should be %q", sum, want))
	}
	var of struct{ Version int } // decoded first: a newer version may have other types
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

// Check compares the identity with the options. A difference is an ErrIdentity.
func (id Identity) Check(o *layout.Settings, keyID [8]byte) error {
	switch path, key := IdentityPath(o.Dir), hex.EncodeToString(keyID[:]); {
	case id.Site != o.Site:
		return fmt.Errorf("%s: %w: it belongs to site %q, the configured name is %q", path, layout.ErrIdentity, id.Site, o.Site)
	case id.KeyID != key:
		return fmt.Errorf("%s: %w: it was made under federation key %s, the configured key is %s", path, layout.ErrIdentity, id.KeyID, key)
	case id.ReportPeriod != int64(o.Reports.Period.Seconds()):
		return fmt.Errorf("%s: %w: the report period was %d s, the configured one is %s", path, layout.ErrIdentity, id.ReportPeriod, o.Reports.Period)
	case id.CountPeriod != int64(o.Counts.Period.Seconds()):
		return fmt.Errorf("%s: %w: the count period was %d s, the configured one is %s", path, layout.ErrIdentity, id.CountPeriod, o.Counts.Period)
	}
	return nil
}

// HasState reports whether a folder contains the state of a site, under any key.
func HasState(dir string) bool {
	entries, _ := os.ReadDir(dir) // a missing folder contains none
	return holdsIdentity(dir) || slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasPrefix(e.Name(), KeyFolderPrefix) && holdsIdentity(filepath.Join(dir, e.Name()))
	})
}

// LSN is a position in the journal: segment number and offset.
type LSN uint64

// MaxSegmentNumber is the largest segment number for which an LSN has room.
const MaxSegmentNumber = 1<<24 - 1

func MakeLSN(segment uint32, offset int64) LSN { return LSN(segment)<<40 | LSN(offset) }

func (l LSN) Segment() uint32 { return uint32(l >> 40) }

// A site numbers its records within an epoch. Its epoch and the numbers it has assigned are
// trusted only in the identity and in records that the site has signed: anybody with access
// to Redis can write entry ids.

// NewEpoch returns the epoch of a folder created at a time, in milliseconds since 1970.
//
// Epochs of new folders are even. If a folder's numbers can no longer be used, it continues
// with its filters in a new, odd epoch. Counts of an odd epoch include those of the one
// before, so receivers do not add them. An epoch is also even if it merely follows another
// one: the folder was lost, and the clock was set back.
func NewEpoch(now time.Time) uint64 { return uint64(max(2, now.UnixMilli())) &^ 1 }

// NextEpoch returns the next epoch after another: the next odd one if the site continues with
// the filters that others received in the earlier epoch, else the next even one.
func NextEpoch(epoch uint64, carries bool) uint64 {
	if carries {
		return (epoch + 1) | 1
	}
	return (epoch + 2) &^ 1
}

// MaxCarried bounds the distance between epochs of one folder: each continued epoch is the
// next odd number. Epochs of different folders are times of creation and differ by more.
const MaxCarried = 64

// CarriesOver reports whether an epoch continues with the filters of an earlier one, directly
// or through epochs between them.
func CarriesOver(epoch, earlier uint64) bool { return epoch&1 == 1 && epoch-earlier <= MaxCarried }

// Enter begins an epoch. Nothing is published in it yet, and a snapshot must be published first.
func (id *Identity) Enter(epoch uint64) {
	id.Epoch, id.Republish = epoch, true
	id.PublishedSeq, id.TailSeq, id.ReservedSeq, id.LeftSeq = 0, 0, 0, 0
}

// MutedSite is a site that has no influence on verdicts here.
type MutedSite struct {
	Site    string `json:"site"`
	Dropped bool   `json:"dropped,omitempty"` // its filters were deleted, too
	Since   int64  `json:"since"`             // seconds since 1970
}

func CompareMuted(m MutedSite, site string) int { return strings.Compare(m.Site, site) }
