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
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/spambloom/spambloom/reporting/trust"
)

// Errors a caller branches on.
var (
	ErrFull   = errors.New("the ledger of reports is full")
	ErrClosed = errors.New("the ledger of reports is closed")
)

// Errors of Open, which leaves the file as it is.
var (
	ErrDamaged = errors.New("damaged, or no ledger")
	ErrVersion = errors.New("made by another version")
)

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
	lockTimeout   = 2 * time.Second // for who else has the file open

	// mapped is the address space set aside for the file, so that it need not be
	// mapped anew, for which a writer would wait for readers. It is not memory.
	mapped = 16 << 30
)

// Ledger is the open file.
type Ledger struct {
	opt    Options
	quorum Weight
	db     *bolt.DB
	jobs   chan *job
	quit   chan struct{} // closed by Close
	ended  chan struct{} // closed when the last transaction has ended
	closed sync.Once
	paid   settled
	fault  atomic.Pointer[string] // of the last transaction; nil: it went well
}

// Weight is a weight in thousandths, so that sums are exact.
type Weight int64

// newWeight rounds down: what is below the quorum stays below it.
func newWeight(w float64) Weight { return Weight(math.Floor(w*1000 + 1e-6)) }

// Float is the weight as trust has it.
func (w Weight) Float() float64 { return float64(w) / 1000 }

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
	db, err := openFile(o)
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", o.Path, err)
	}
	l := &Ledger{
		opt: o, db: db, quorum: Weight(math.Ceil(o.Model.Quorum*1000 - 1e-6)),
		jobs: make(chan *job), quit: make(chan struct{}), ended: make(chan struct{}),
	}
	if err := l.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("ledger %s: %w", o.Path, err), db.Close())
	}
	go l.work()
	return l, nil
}

// openFile opens the file after a look at its length: of one that was cut short the
// library would read beyond the end, and the process would die of it.
func openFile(o Options) (*bolt.DB, error) {
	options := &bolt.Options{Timeout: lockTimeout, NoSync: o.NoSync, FreelistType: bolt.FreelistMapType, InitialMmapSize: mapped}
	info, err := os.Stat(o.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := makeFile(o.Path); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errNoFile
	default:
		if err := checkLegible(o.Path); err != nil {
			return nil, err
		}
	}
	if err == nil && info.Size() > 0 {
		if err := checkLength(o.Path, info.Size(), o.Log); err != nil {
			return nil, err
		}
	}
	db, err := bolt.Open(o.Path, 0o600, options)
	return db, named(err)
}

// errNoFile is the error of a folder, a pipe or a device in the place of the file.
var errNoFile = fmt.Errorf("%w: it is no regular file", ErrDamaged)

// checkLegible reads the headers of a file. The library maps them: of a page that the disk
// cannot read, the process would die.
func checkLegible(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer f.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(f, 2<<16)); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// makeFile makes an empty file. After a crash it is there as a whole, or not at all.
func makeFile(path string) error {
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := bolt.Open(fresh, 0o600, nil)
	if err != nil {
		return err
	}
	if err := errors.Join(db.Sync(), db.Close()); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// checkLength compares the length of a file with what its header says of it, and then
// reads all of it. The lock is held meanwhile.
func checkLength(path string, have int64, log *slog.Logger) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockTimeout, ReadOnly: true})
	if err != nil {
		return named(err)
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		if want := tx.Size(); have < want {
			return fmt.Errorf("%w: cut short, %d bytes of %d", ErrDamaged, have, want)
		}
		spare, err := sound(path)
		if err == nil && !spare {
			log.Warn("one of two headers of the ledger is damaged, and is written anew; the last report may be missing in it", "path", path)
		}
		return err
	})
}

// named says in our words what the library says of a file.
func named(err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return errors.New("another process has it open")
	case errors.Is(err, bolterrors.ErrVersionMismatch):
		return fmt.Errorf("%w of bbolt, whose format 2 is known", ErrVersion)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// version is that of the buckets and their records; see FORMAT.md.
const version = 1

// versionValue is a version as the file has it: with its complement, as nothing else proves
// that a bit of it has not flipped.
func versionValue(v byte) []byte { return []byte{v, ^v} }

// checkVersion returns an error that wraps ErrVersion for a newer version, and ErrDamaged
// for what is none.
func checkVersion(value []byte) error {
	switch {
	case len(value) != 2 || value[1] != ^value[0] || value[0] < version:
		return fmt.Errorf("%w: version %v", ErrDamaged, value)
	case value[0] > version:
		return fmt.Errorf("newer format (version %d; this program reads %d), %w of spambloom", value[0], version, ErrVersion)
	}
	return nil
}

// begin makes the buckets of a new file, and checks the version of another.
func (l *Ledger) begin() error {
	return l.db.Update(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketMeta) == nil {
			if name, _ := tx.Cursor().First(); name != nil {
				return fmt.Errorf("%w: it has a bucket %.40q and none %q", ErrDamaged, name, bucketMeta)
			}
			for _, name := range buckets {
				if _, err := tx.CreateBucket(name); err != nil {
					return err
				}
			}
			return tx.Bucket(bucketMeta).Put(keyVersion, versionValue(version))
		}
		if err := checkVersion(tx.Bucket(bucketMeta).Get(keyVersion)); err != nil {
			return err
		}
		for _, name := range buckets {
			if tx.Bucket(name) == nil {
				return fmt.Errorf("%w: it has no bucket %q", ErrDamaged, name)
			}
		}
		return nil
	})
}

// Close writes what was settled and closes the file. What waits is refused.
func (l *Ledger) Close() error {
	var err error
	l.closed.Do(func() {
		close(l.quit)
		<-l.ended
		if l.paid.waiting() {
			err = l.transaction(nil)
		}
		err = errors.Join(err, l.db.Close())
	})
	return err
}

// Quorum is the weight that lists a message, or takes it back.
func (l *Ledger) Quorum() Weight { return l.quorum }

// Fault is why the last transaction failed; nil where it did not.
func (l *Ledger) Fault() error {
	if text := l.fault.Load(); text != nil {
		return errors.New(*text)
	}
	return nil
}
