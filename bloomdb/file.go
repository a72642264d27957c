package bloomdb

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
)

// DamageError says which file is not what was written, and from which byte on.
type DamageError struct {
	Path   string
	Offset int64
	Err    error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged at offset %d: %v", e.Path, e.Offset, e.Err)
}

func (e *DamageError) Unwrap() error { return e.Err }

// damaged makes a *DamageError. What a newer version made is not damaged: then the error
// only names the file.
func damaged(path string, offset int64, err error) error {
	if errors.Is(err, ErrNewer) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return &DamageError{Path: path, Offset: offset, Err: err}
}

// syncDir makes renames and new files in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	return nil
}

// identity is the file "identity": whose state the folder holds, and how much of
// it other sites were told. It is one line of JSON and one of its CRC32C.
type identity struct {
	Version      int    `json:"version"`
	Site         string `json:"site"`
	Epoch        uint64 `json:"epoch"` // the folder's life: see newEpoch
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
	PublishedLSN lsn    `json:"published_lsn"`
	// LeftSeq is the last number that was left out.
	LeftSeq uint64 `json:"left_seq,omitempty"`
	// Republish says that stream and journal no longer have all that other sites
	// must know: a snapshot has to be published.
	Republish bool `json:"republish,omitempty"`

	// DomainsLSN is the place in the journal before which counts of link domains were lost
	// and begin anew.
	DomainsLSN lsn `json:"domains_lsn,omitempty"`

	// Signer is the public half of the key with which this site signs its records.
	Signer string `json:"signer,omitempty"`

	// Muted are the sites whose influence was taken away, by name.
	Muted []mutedSite `json:"muted,omitempty"`

	// Snapshots are the files without which the folder is not whole.
	Snapshots []string `json:"snapshots"`

	// Companions are likewise files that the database does not keep itself, by their paths
	// relative to the folder.
	Companions []string `json:"companions,omitempty"`
}

// segment is the newest segment of the journal in which the identity knows a place.
func (id identity) segment() uint32 { return max(id.PublishedLSN, id.DomainsLSN).segment() }

const identityVersion = 1

func identityPath(dir string) string { return filepath.Join(dir, "identity") }

// encode returns the file: the line of JSON and that of its checksum.
func (id identity) encode() ([]byte, error) {
	line, err := json.Marshal(id)
	return append(append(line, '\n'), checksumLine(line)...), err
}

func (id identity) write(dir string) error {
	data, err := id.encode()
	if err != nil {
		return err
	}
	path := identityPath(dir)
	if err := renameio.WriteFile(path, data, 0o600, renameio.WithTempDir(dir)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return syncDir(dir)
}

func checksumLine(line []byte) string {
	return fmt.Sprintf("crc32c %08x\n", crc32.Checksum(line, castagnoli))
}

// readIdentity returns an error that wraps os.ErrNotExist for a new folder, and one that
// wraps ErrNewer for a newer version.
func readIdentity(dir string) (id identity, err error) {
	path := identityPath(dir)
	data, err := readLegible(path)
	if err != nil {
		return id, err
	}
	line, sum, _ := bytes.Cut(data, []byte("\n"))
	if want := checksumLine(line); string(sum) != want {
		return id, damaged(path, int64(len(line)), fmt.Errorf("checksum line is %q, should be %q", sum, want))
	}
	var of struct{ Version int } // first: a newer version may have other types
	err = json.Unmarshal(line, &of)
	switch {
	case err == nil && of.Version > identityVersion:
		err = newer(of.Version, identityVersion)
	case err == nil && of.Version < identityVersion:
		err = fmt.Errorf("version %d, this program reads %d", of.Version, identityVersion)
	case err == nil:
		err = json.Unmarshal(line, &id)
	}
	if err != nil {
		return id, damaged(path, 0, err)
	}
	return id, nil
}

// check compares the folder's identity with what the options say.
func (id identity) check(o *settings, keyID [8]byte) error {
	switch path, key := identityPath(o.Dir), hex.EncodeToString(keyID[:]); {
	case id.Site != o.Site:
		return fmt.Errorf("%s: %w: it is of site %q, the name given is %q", path, ErrIdentity, id.Site, o.Site)
	case id.KeyID != key:
		return fmt.Errorf("%s: %w: it was made under federation key %s, the key given is %s", path, ErrIdentity, id.KeyID, key)
	case id.ReportPeriod != int64(o.Reports.Period.Seconds()):
		return fmt.Errorf("%s: %w: the report period was %d s, the one given is %s", path, ErrIdentity, id.ReportPeriod, o.Reports.Period)
	case id.CountPeriod != int64(o.Counts.Period.Seconds()):
		return fmt.Errorf("%s: %w: the count period was %d s, the one given is %s", path, ErrIdentity, id.CountPeriod, o.Counts.Period)
	}
	return nil
}

// HasState says whether a folder holds the state of a site, under whatever key.
func HasState(dir string) bool {
	entries, _ := os.ReadDir(dir) // a folder that is not there holds none
	return holdsIdentity(dir) || slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasPrefix(e.Name(), keyFolderPrefix) && holdsIdentity(filepath.Join(dir, e.Name()))
	})
}
