// Package ledger keeps who reported what: reports and revocations, and the reporters with
// their reputation, in one file. It decides when the summed weight of distinct reporters
// reaches the quorum, by the model of package trust. It does not know the filters: it returns
// a Decision, which the caller carries out and then settles. Bodies of messages never reach
// it. Of a message it keeps the signatures, the few features that its sketches store, and the
// domains of its links.
//
//	Enter(entry) -> one transaction, with other entries that wait   (store: group commit, fsync)
//	    weight of the reporter, tally of each key, credit for earlier reporters
//	    -> Decision: list or revoke; due until Settle
//	Due():       decisions that a crash left undone
//	Expire(now): removes reports older than Memory, and faded reporters
//	Copy:        the file as of one moment, for a backup
//	Repair:      a new file from what is sound in a damaged one
//
// The packages below, in the order of their imports: record (records and their form in the
// file), buckets (which record belongs where), pagefile (reads pages that are not believed),
// salvage (checks a whole file, copies what is sound), store (the open file, transactions), rows
// (the records of a transaction), search (finds reports).
// The form of the file is in FORMAT.md. A Ledger is safe for concurrent use. It has no locks of
// its own: all changes are made by the goroutine of store.File, one transaction at a time.
//
// # What is counted
//
// Each exact signature has a tally: the sum of the weights of the distinct reporters whose
// latest statement about it is spam, and of those whose latest statement is ham. A weight is
// that at the time of the report. Once a sum reaches the quorum, the signature is listed or
// revoked. A revocation closes the case: earlier reports no longer count, and their reporters
// are refuted, and charged for that if it concerns the text, and not only the one stands by it who was
// behind their last charge (charge.go). A new listing needs a quorum again, or twice the quorum in the same period, while
// those who revoked it stand by that with a quorum. Where the quorum is one reporter, one other
// reporter is enough. A listing closes the case of those who revoked it, and so does each first word of a reporter in
// a period on the side that has the quorum, but not one who says the same again, or changes sides and back. A reporter who withdraws an own report is not refuted. If a listing loses its quorum by that, it is revoked. If a
// revocation is undone and loses its quorum, what it closed is open again.
//
// A revocation of a message that nobody had reported, here or elsewhere (Entry.Listed), has no
// weight. It waits (Waiting) until its reporter enters it again, or it lapses. Otherwise a few
// liars could keep every campaign out of the filters before its first copy arrives.
//
// A report may be held (Entry.Held), because it would hit much mail that nobody reported. Then the
// keys are listed by two reporters, not by one, whatever their weight. The first report counts as
// one of them. What another reporter reported before is not held; what stands beside it is.
//
// An administrator's statement in the name of Settler decides alone, against any number of others.
//
// Near-duplicates have no signature in common. Their sketches have tallies by anchor. If
// enough anchors of a sketch (Anchors.Need) have the quorum, the sketch is listed. Signatures
// and sketches do not list each other: the parts of a report need not belong to one message,
// and a reporter who shares only one of them with others could list any other. One anchor in
// common makes nobody right or wrong. Reports are about one message from Need anchors on. A text that
// loses its quorum stays listed while its sketch has one, and is revoked when the sketch loses it too.
//
// A reporter counts once. The same statement again in the same period changes nothing, unless
// an administrator has raised the reporter's weight since. In a later period it counts anew,
// with the weight of then. A report is removed after Memory, so that no listing outlives its
// reporters by more.
//
// # What is shared
//
// An entry is booked on three parties: its reporter, its origin, which is the way it came, and its
// reporter by that way: a program that reports for others cannot use up what they report otherwise.
// Each has a share of the room in the filters in one period (Entry.Cost), separately for reports and
// revocations, and of the reports that are kept. An origin also has a share of the reporters. An
// entry over a share is refused with the party's name (ErrShare). So no party can cause ErrFull, or
// full filters, for the others.
package ledger

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/rows"
	"github.com/spambloom/spambloom/reporting/ledger/salvage"
	"github.com/spambloom/spambloom/reporting/ledger/search"
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
	Max    int64         // reports that are kept; 0: ten million. More are ErrFull, see rows.Room

	// NoSync lets the system decide when to write to the disk. It is for simulations, whose
	// files need not survive a crash.
	NoSync bool

	Log *slog.Logger // nil: discard
}

const (
	defaultMemory = 35 * 24 * time.Hour
	defaultMax    = 10_000_000
	maxReporters  = 1_000_000
)

// Ledger is an open ledger. Its Search finds what was reported.
type Ledger struct {
	*search.Search
	opt    Options
	quorum Weight
	file   *store.File
	last   atomic.Uint64 // see LastReport
}

// txn is a transaction of a ledger.
type txn struct {
	*rows.Txn
	l *Ledger
}

func newTxn(tx *bolt.Tx, l *Ledger) *txn { return &txn{Txn: rows.New(tx), l: l} }

// Open opens the file, or makes it. It refuses a damaged file, and one of another version,
// and leaves it as it is. The error contains the path.
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
	l := &Ledger{opt: o, file: file, quorum: Weight(math.Ceil(o.Model.Quorum*1000 - 1e-6))}
	l.Search = search.New(func(do func(*rows.Txn) error) error {
		return file.View(func(tx *bolt.Tx) error { return do(rows.New(tx)) })
	}, l.quorum)
	err = file.View(func(tx *bolt.Tx) error {
		l.last.Store(tx.Bucket(buckets.Reports).Sequence())
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

// LastReport returns the number of the last report that is on disk. A file with a smaller one is an
// older copy. It never decreases, also if reports are removed, and after Close.
func (l *Ledger) LastReport() uint64 { return l.last.Load() }

// noteReport records that a report is on disk.
func (l *Ledger) noteReport(n uint64) {
	for last := l.last.Load(); n > last && !l.last.CompareAndSwap(last, n); last = l.last.Load() {
	}
}

// MayLackLast reports whether what was said last may be missing, because a header was damaged when the file was opened.
func (l *Ledger) MayLackLast() bool { return l.file.OneHeader }

// Close removes the settled decisions and closes the file. Calls that wait get ErrClosed.
func (l *Ledger) Close() error { return l.file.Close() }

// Quorum returns the weight that lists or revokes a message.
func (l *Ledger) Quorum() Weight { return l.quorum }

// Fault returns the error of the last transaction that failed; nil once one has succeeded and
// there is room for more.
func (l *Ledger) Fault() error { return l.file.Fault() }

// commit does work in a transaction, see store.File.Commit.
func (l *Ledger) commit(do func(*txn) (refused, err error)) error {
	return l.file.Commit(func(tx *bolt.Tx) (refused, err error) { return do(newTxn(tx, l)) })
}

// view reads, see store.File.View.
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
