package desk

import (
	"errors"
	"io"
	"strings"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/backup"
)

// Status returns the status of the database and the ledger.
func (d *Desk) Status() (s api.Status, err error) {
	s.Database = d.db.Status()
	s.Reports, err = d.ledger.Status()
	return s, err
}

// Fsck reads all files of the state folder and returns the damaged ones. It takes as long
// as the disk takes. Judging and reporting go on.
func (d *Desk) Fsck() api.Checked {
	checked := api.Checked{Faults: []string{}}
	if err := errors.Join(d.db.CheckFiles(), d.ledger.Check()); err != nil {
		checked.Faults = strings.Split(err.Error(), "\n")
	}
	return checked
}

// Backup writes the state of the database and the ledger to w, see package backup.
func (d *Desk) Backup(w io.Writer, o backup.Options) error {
	return backup.Write(w, d.db, d.ledger, o)
}
