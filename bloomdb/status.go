package bloomdb

import (
	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/status"
)

// Site returns the name of this site.
func (db *DB) Site() string { return db.ks.Settings.Site }

// Status describes the database. It is cheap enough to call every few seconds: it measures only
// filters that have changed.
func (db *DB) Status() status.Status {
	s := status.Of(db.ks)
	s.Clock = db.ks.Keeper.Status()
	if s.Burst = db.burst.Status(db.ks.Settings.Now()); s.Burst != nil {
		s.Memory += s.Burst.Memory
	}
	if s.Greylist = db.greylist.Status(db.ks.Settings.Now()); s.Greylist != nil {
		s.Memory += s.Greylist.Memory
	}
	if db.previous != nil {
		before, until := db.previous.Status(), previousUntil(db.ks, db.previous.ks)
		s.Previous, s.PreviousUntil = &before, &until
		s.ErrorPerMail += before.ErrorPerMail
	}
	return s
}

// DamagedFiles returns the damaged files that were set aside at this start or an earlier one,
// until they are removed. It is cheap.
func (db *DB) DamagedFiles() (list []folder.DamagedFile) {
	for _, ks := range db.keys {
		list = append(list, ks.Files.DamagedFiles()...)
	}
	return list
}

// Clock describes a jump of the clock that is not believed; nil while there is none. It is
// cheap.
func (db *DB) Clock() *clock.Status { return db.ks.Keeper.Status() }
