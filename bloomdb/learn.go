package bloomdb

import (
	"errors"
	"time"

	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/judging"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/signature"
)

// Sender is where a message comes from, as far as this site has proof.
type Sender struct {
	From string // registrable domain of From that this site's verifier proved; "": not proved
}

// Learn records a message that arrived at a time and was not reported, unless its evidence e lists it, or would
// without the never-list: features of many senders' mail are no evidence (package commonness). Of a message that
// would be listed without its sender only the sender is recorded: the site still knows it, and holds a report of the
// message against it. Mail without a proven sender is not learned. Call it after Judge: otherwise the message would
// count in its own favour. It is a change in memory; a crash loses that of ten minutes.
func (db *DB) Learn(set signature.Set, s Sender, e judging.Evidence, at time.Time) {
	if e.Never || db.ks.Closed.Load() {
		return
	}
	m := commonness.Mail{Sender: s.From, At: at}
	for _, ks := range db.keys {
		switch {
		case e.Listed:
			ks.NoteSender(set, s.From)
		case len(e.Spared) > 0 && !e.IsNewSite:
			ks.LearnSender(set, m)
		default:
			ks.Learn(set, m)
		}
	}
}

// Errors of LearnArchived.
var (
	ErrLearned  = errors.New("no room is left for archives in this period ([reports] period)")
	ErrLearning = errors.New("the daemon does not learn: [reports] commonness is off")
)

// LearnArchived records a message of an archive of wanted mail, for which an administrator vouches, and reports
// whether it was learned: not if it matches a report. From is the registrable domain of its From, which nobody can
// prove any more. It is believed because it gives a spammer nothing: the mail that is spared later needs a proof of
// its own (JudgeFrom), and the features of spam in the archive become common only if it bears three domains, on three
// days. A time in the future, or none, is that of the clock. Errors are ErrNothing for too little content or no From,
// ErrLearning, ErrLearned if the room for archives is used up, and ErrClosed. A message that was learned before is
// learned again without an effect. A crash loses the changes of ten minutes, or since the last Keep.
func (db *DB) LearnArchived(set signature.Set, from string, at time.Time) (learned bool, err error) {
	switch {
	case db.ks.Closed.Load():
		return false, ErrClosed
	case db.ks.Settings.Reports.NoCommonness:
		return false, ErrLearning
	case len(set.Signatures) == 0 || from == "":
		return false, ErrNothing
	}
	if e := db.Judge(set); e.Listed || len(e.Spared) > 0 || e.Never {
		return false, nil
	}
	if now := db.Now(); at.IsZero() || at.After(now) {
		at = now
	}
	m := commonness.Mail{Sender: from, At: at, Archived: true}
	for _, ks := range db.keys {
		if !ks.Learn(set, m) {
			return false, ErrLearned
		}
	}
	return true, nil
}

// Keep writes snapshots of what changed since the last ones. What was learned is in no journal.
func (db *DB) Keep() error { return db.all((*keyspace.Keyspace).Save) }

// Knows reports whether this site has seen unreported mail of a proven From domain on several days (package commonness).
func (db *DB) Knows(from string) bool { return db.ks.Common.Knows(from) }

// IsNewSite reports whether nothing can be common here yet, see package commonness.
func (db *DB) IsNewSite() bool { return db.ks.Common.IsNew() }
