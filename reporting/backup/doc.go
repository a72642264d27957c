// Package backup writes the state of a running site as one tar archive, and restores it.
//
//	Write:   database and ledger as of one moment -> tar, with a list of checksums last
//	Read:    tar -> files in an empty folder; each is checked as at a start
//	Restore: Read into DIR/restoring -> fsync -> rename to DIR/restored -> Finish
//	Finish:  the files of DIR/restored move up into DIR; also called at a start
//
// A backup is a state that a crash could have left. The filters are copied first, then the
// ledger, and meanwhile no settled decision is removed (bloomdb.DB.Backup, store.File.Copy).
// The next start recovers from it as from a crash. Memory holds one buffer and the list.
//
// A restore that is killed leaves an unfinished DIR/restoring, with which no daemon starts, or
// the whole state: the rename between the two decides. It works inside the state folder,
// because that may be a mount point, or its parent may not be writable.
//
// The layout of the archive is in FORMAT.md. Every tar extracts it. The package has no state
// and no locks.
package backup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Errors that callers distinguish.
var (
	// ErrBackup is the error for a stream that is no whole backup.
	ErrBackup = errors.New("no whole backup")
	// ErrNotEmpty is the error for a restore into a state folder with contents.
	ErrNotEmpty = errors.New("the state folder is not empty")
	// ErrUnfinished is the error for a restore that was interrupted or is running.
	ErrUnfinished = errors.New("a restore into the state folder is not finished")
)

const (
	version = 1

	headName   = "backup.json" // the first member
	listName   = "backup.list" // the last one
	ledgerName = "reports.db"

	maxHead  = 64 << 10
	maxList  = 64 << 20
	maxFiles = 200_000
	maxDepth = 4
	maxName  = 200 // bytes
)

// Head is the first member of a backup.
type Head struct {
	Version int       `json:"version"` // of the format
	Program string    `json:"program"` // the daemon's version
	Site    string    `json:"site"`
	KeyID   string    `json:"key_id"` // of the federation key
	Made    time.Time `json:"made"`
	// Without lists the key files of the site that are outside its state folder. They are not
	// in the backup.
	Without []string `json:"without,omitempty"`
}

// Summary describes a backup.
type Summary struct {
	Head
	Files     int
	Bytes     int64 // of all files
	Reports   int64 // in the ledger
	Reporters int64
}

// String returns two or three lines for people.
func (s Summary) String() string {
	text := fmt.Sprintf("state of %s as of %s, federation key %s\nfiles: %d, bytes: %d, reports: %d, reporters: %d\n",
		s.Site, s.Made.UTC().Format("2006-01-02 15:04:05 UTC"), s.KeyID, s.Files, s.Bytes, s.Reports, s.Reporters)
	if len(s.Without) > 0 {
		text += "keys that this backup does not contain; copy these files as well:"
		for _, path := range s.Without {
			text += fmt.Sprintf(" %q", path)
		}
		text += "\n"
	}
	return text
}

// reserved are names in a state folder that are not part of the state.
var reserved = []string{"lock", "lost+found", unfinished, restored}

// checkName returns an error for names that no backup has: names that lead out of the folder,
// are hidden, or mean something in a shell.
func checkName(name string) error {
	parts := strings.Split(name, "/")
	bad := len(name) > maxName || len(parts) > maxDepth || slices.Contains(reserved, parts[0])
	for _, part := range parts {
		bad = bad || part == "" || part[0] == '.' || part[0] == '-' || strings.ContainsFunc(part, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@+", r)
		})
	}
	if bad {
		return fmt.Errorf("%w: file name %.100q", ErrBackup, name)
	}
	return nil
}
