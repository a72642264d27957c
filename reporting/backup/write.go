package backup

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// Options of Write.
type Options struct {
	Program string   // version of the daemon
	Folder  string   // the state folder
	Keys    []string // the key files of the site; those in Folder are in the backup
}

// Write writes a backup. Mail and reports go on meanwhile. Each report that was acknowledged
// before the call is in it. The error is that of w or of the disk, or ErrClosed of the database
// or the ledger.
func Write(w io.Writer, db *bloomdb.DB, l *ledger.Ledger, o Options) (err error) {
	var filters *bloomdb.Backup
	reports, err := l.Copy(func() (err error) {
		filters, err = db.Backup()
		return err
	})
	if filters != nil {
		defer func() { err = errors.Join(err, filters.Close()) }()
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reports.Close()) }()
	status := db.Status()
	inside, outside := o.keys()
	a := &archive{w: tar.NewWriter(w), made: db.Now().UTC().Truncate(time.Second)}
	a.addJSON(headName, Head{version, o.Program, status.Site, status.KeyID, a.made, outside})
	for f := range filters.Files() {
		a.add(f.Name, f.Size, f.Content)
	}
	a.addLedger(reports)
	for name, path := range inside {
		a.addFile(name, path)
	}
	for _, f := range filters.Identities() { // last: no daemon starts with the others alone
		a.add(f.Name, f.Size, f.Content)
	}
	return a.close()
}

// keys divides the key files into those in the state folder, with their names in it, and the
// others.
func (o Options) keys() (inside map[string]string, outside []string) {
	inside = make(map[string]string)
	for _, path := range o.Keys {
		folder, folderErr := filepath.Abs(o.Folder)
		absolute, err := filepath.Abs(path)
		name, relErr := filepath.Rel(folder, absolute)
		if name = filepath.ToSlash(name); errors.Join(folderErr, err, relErr) == nil && checkName(name) == nil {
			inside[name] = path
		} else {
			outside = append(outside, path)
		}
	}
	return inside, outside
}

// archive writes members and their list. After an error it does nothing more.
type archive struct {
	w    *tar.Writer
	made time.Time
	list bytes.Buffer
	err  error
}

// begin writes a member's header. The owner is the daemon's user.
func (a *archive) begin(name string, size int64) {
	if a.err == nil {
		a.err = a.w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: a.made, Uid: os.Geteuid(), Gid: os.Getegid(),
		})
	}
}

// put writes a member with the contents that write makes.
func (a *archive) put(name string, size int64, write func(io.Writer) error) {
	if a.begin(name, size); a.err != nil {
		return
	}
	sum := crc32.New(folder.Castagnoli)
	if err := write(io.MultiWriter(a.w, sum)); err != nil {
		a.err = fmt.Errorf("backup: %s: %w", name, err)
		return
	}
	fmt.Fprintf(&a.list, "%08x %d %s\n", sum.Sum32(), size, name)
}

func (a *archive) add(name string, size int64, content io.Reader) {
	a.put(name, size, func(w io.Writer) error {
		_, err := io.CopyN(w, content, size)
		return err
	})
}

func (a *archive) addLedger(c *ledger.Copy) {
	a.put(ledgerName, c.Size(), func(w io.Writer) error {
		_, err := c.WriteTo(w)
		return err
	})
}

// maxKeyFile bounds a key file, and a file of CAs: all of Debian's take 220 kB.
const maxKeyFile = 4 << 20

func (a *archive) addFile(name, path string) {
	data, err := folder.ReadBounded(path, maxKeyFile)
	if err != nil && a.err == nil {
		a.err = fmt.Errorf("backup: %w", err)
	}
	a.add(name, int64(len(data)), bytes.NewReader(data))
}

func (a *archive) addJSON(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil && a.err == nil {
		a.err = err
	}
	data = append(data, '\n')
	a.add(name, int64(len(data)), bytes.NewReader(data))
}

// close writes the list and the end.
func (a *archive) close() error {
	if a.begin(listName, int64(a.list.Len())); a.err == nil {
		_, a.err = a.w.Write(a.list.Bytes())
	}
	if a.err != nil {
		return a.err
	}
	return a.w.Close()
}
