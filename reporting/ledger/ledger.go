// Package ledger keeps who reported what: reports and revocations, reporters and
// what they are worth, in one bbolt file. It decides when the summed weight of
// distinct reporters reaches the quorum, by the model of reporting/trust. It does not
// know the filters: what it decides is a Decision, which the caller carries out and
// then settles. Bodies never reach it; of a message it keeps the signatures, the few
// features that its sketches store, and the domains of its links.
//
//	Enter(entry) -> one transaction, with others that wait   (group commit, fsync)
//	    reporter's weight, tally of each key, credit to who said so before
//	    -> Decision: list this, revoke that; kept as due until Settle
//	Open -> Due(): decisions that a crash left undone
//	Expire(now): what is older than Memory is forgotten
//	Copy -> the file as it was at one moment, for a backup
//
// # What is counted
//
// Each exact signature has a tally: the sum of the weights of the distinct reporters
// whose latest word on it is spam, and of those whose latest word is ham. A weight is
// that of the time of the report. Once a sum reaches the quorum, the signature is
// listed, or revoked. A revocation closes the case: the reports before it no longer
// count, and their reporters are refuted; from then on it takes a quorum again. Who
// takes an own report back is not refuted; where a listing loses its quorum by that,
// it is revoked. A revocation of what nobody had reported, here or elsewhere
// (Entry.Listed), is kept and has no effect until there is something to revoke: or a
// few liars could keep every campaign out of the filters before its first copy.
//
// Near-duplicates have no signature in common. Their sketches have tallies by anchor;
// where enough anchors of a sketch (Anchors.Need) have the quorum, the sketch is listed.
// Neither lists the other: the parts of a report need not be of one message, and who has
// only one of them with others could list any. One anchor in common makes nobody
// right or wrong: reports are about one message from Need on.
//
// A reporter counts once: the same word again, in the same period, changes nothing,
// unless the administrator has set a greater weight for the reporter since. In a later period it counts anew, with the weight of then, and who is no longer heard of
// is forgotten after Memory: so no listing outlives those who stand for it by more.
//
// # What is shared
//
// An entry is booked on two parties: its reporter, and its origin, which is the way that it
// came. Each has a share of what the filters hold in a period (Entry.Cost), apart for reports
// and revocations, and of the reports that are kept; an origin has one of the reporters, too.
// An entry over a share is refused with the party's name (ErrShare), so that no party can bring
// about ErrFull, or the full filters, for the others.
//
// The file's form is in FORMAT.md. A Ledger is safe for concurrent use.
package ledger

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/reporting/ledger/salvage"
	"github.com/spambloom/spambloom/reporting/ledger/store"
	"github.com/spambloom/spambloom/reporting/trust"
)

// ErrFull is the error for a report for which there is no room.
var ErrFull = errors.New("the ledger of reports is full")

// Options of a Ledger.
type Options struct {
	Path   string // of the file; its folder exists
	Model  trust.Model
	Memory time.Duration // how long a report counts and is kept; 0: 35 days
	Max    int64         // reports that are kept; 0: ten million. More are ErrFull

	// NoSync leaves the disk to the system: for simulations, whose files need not
	// outlive them.
	NoSync bool

	Log *slog.Logger // nil: discard
}

const (
	defaultMemory = 35 * 24 * time.Hour
	defaultMax    = 10_000_000
	maxReporters  = 1_000_000
)

// Ledger is the open file.
type Ledger struct {
	opt    Options
	quorum Weight
	file   *store.File
}

// Open opens the file, or makes it. A file of another version, and a damaged one, is
// refused with an error that names it, and left as it is.
func Open(o Options) (*Ledger, error) {
	if err := o.Model.Check(); err != nil {
		return nil, fmt.Errorf("model of trust: %w", err)
	}
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	if o.Max == 0 {
		o.Max = defaultMax
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	file, err := store.Open(o.Path, o.NoSync, o.Log)
	if err != nil {
		return nil, err
	}
	return &Ledger{opt: o, file: file, quorum: Weight(math.Ceil(o.Model.Quorum*1000 - 1e-6))}, nil
}

// Close writes what was settled and closes the file. What waits is refused.
func (l *Ledger) Close() error { return l.file.Close() }

// Quorum is the weight that lists a message, or takes it back.
func (l *Ledger) Quorum() Weight { return l.quorum }

// Fault returns the error of the last transaction; nil if it succeeded.
func (l *Ledger) Fault() error { return l.file.Fault() }

// commit does work in a transaction, see store.commit.
func (l *Ledger) commit(do func(*txn) (refused, err error)) error {
	return l.file.Commit(func(tx *bolt.Tx) (refused, err error) { return do(newTxn(tx, l)) })
}

// view reads. What it hands out must be copied before it ends.
func (l *Ledger) view(do func(*txn) error) error {
	return l.file.View(func(tx *bolt.Tx) error { return do(newTxn(tx, l)) })
}

// Copy copies the ledger for a backup, with filters that agree with it; see store.File.Copy.
func (l *Ledger) Copy(filters func() error) (*Copy, error) { return l.file.Copy(filters) }

// Check reads the whole file, see store.File.Check.
func (l *Ledger) Check() error { return l.file.Check() }

// Contents are the counts of a file.
type Contents struct{ Reports, Reporters int64 }

// CheckFile checks the file of a ledger that nobody has open, like Open. The error joins
// what is damaged, or wraps ErrVersion.
func CheckFile(path string) (Contents, error) {
	v, _, err := salvage.Inspect(path)
	if err = errors.Join(errors.Join(v.Faults...), err); err != nil {
		return Contents{}, fmt.Errorf("ledger %s: %w", path, err)
	}
	return Contents{v.Counts["reports"], v.Counts["reporters"]}, nil
}
