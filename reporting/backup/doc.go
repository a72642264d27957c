// Package backup writes the state of a running site as one tar archive, and restores it.
//
//	Write:   database and ledger as of one moment -> tar, with a list of checksums last
//	Read:    tar -> files in an empty folder; each is checked, as a start would check it
//	Restore: Read into DIR/restoring -> fsync -> rename to DIR/restored -> Finish
//	Finish:  the files of DIR/restored move up into DIR; a start does it, too
//
// What Write writes is a state that a crash could have left: the copy of the filters is
// taken first, then that of the ledger, and meanwhile no decision is forgotten that was
// carried out (bloomdb.DB.Backup, ledger.Ledger.Copy). The next start recovers from it as
// it does from a crash. Nothing is kept in memory but one buffer and the list.
//
// A restore that is killed leaves an unfinished DIR/restoring, with which no daemon starts,
// or all of the state: the rename between the two decides. It works in the state folder
// itself, which may be a mount point, in a parent that its user cannot write.
//
// The archive's layout is in FORMAT.md. Any tar extracts it.
package backup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Errors a caller branches on.
var (
	// ErrBackup is wrapped where a stream is no whole backup.
	ErrBackup = errors.New("no whole backup")
	// ErrNotEmpty is wrapped where the state folder of a restore holds something.
	ErrNotEmpty = errors.New("the state folder is not empty")
	// ErrUnfinished is wrapped where a restore was cut off, or is at work.
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
	// Without are the key files of the site that are outside its state folder, and not in
	// the backup.
	Without []string `json:"without,omitempty"`
}

// Summary is what a backup holds.
type Summary struct {
	Head
	Files     int
	Bytes     int64 // of all files
	Reports   int64 // in the ledger
	Reporters int64
}

// String is for people: two or three lines.
func (s Summary) String() string {
	text := fmt.Sprintf("state of %s as of %s, federation key %s\nfiles: %d, bytes: %d, reports: %d, reporters: %d\n",
		s.Site, s.Made.UTC().Format("2006-01-02 15:04:05 UTC"), s.KeyID, s.Files, s.Bytes, s.Reports, s.Reporters)
	if len(s.Without) > 0 {
		text += fmt.Sprintf("not in it: %q\n", s.Without)
	}
	return text
}

// reserved are names in a state folder that are no part of the state.
var reserved = []string{"lock", "lost+found", unfinished, restored}

// checkName refuses the names that a backup never has: such as lead out of the folder, are
// hidden, or stand for something in a shell.
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
