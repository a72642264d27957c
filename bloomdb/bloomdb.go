package bloomdb

// CONTRACT of the package, being built: the exported names below are what the
// other packages may rely on.

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// Options say where a database stands and how large its filters are.
type Options struct {
	Dir  string   // state folder; made with mode 0700 where missing
	Site string   // this site's name: 1 to 64 characters of a-z A-Z 0-9 . _ -
	Key  [32]byte // federation key: indices are HMACs under it

	Reports ReportOptions
	Counts  CountOptions

	// Exchange says that changes are to be kept for NextDelta.
	Exchange bool

	Log *slog.Logger     // nil: discard
	Now func() time.Time // nil: time.Now
}

// ReportOptions size the spam and revocation filters.
type ReportOptions struct {
	Period          time.Duration // length of a generation, UTC-aligned; default 168h
	Keep            int           // generations kept, the current one included; default 5
	Capacity        int64         // reported messages over all kept generations; default 1,000,000
	KeysPerMessage  int           // default 8
	MaxErrorPerMail float64       // default 1e-6
}

// CountOptions size this site's counting filter.
type CountOptions struct {
	Period   time.Duration // default 24h
	Keep     int           // default 2
	Capacity int64         // distinct messages counted in one period; default 20,000,000
}

// Errors a caller branches on.
var (
	ErrLocked     = errors.New("state folder is in use by another process")
	ErrNothing    = errors.New("too little content to sign") // a Set without signatures
	ErrFull       = errors.New("the generation's capacity is used up")
	ErrClosed     = errors.New("database is closed")
	ErrParameters = errors.New("parameters differ")  // Apply: made with other sizes, periods or layouts
	ErrFederation = errors.New("another federation") // Apply: made under another key
	ErrGap        = errors.New("sequence gap")       // Apply: earlier deltas of the origin are missing
)

// DB is what this site knows. All methods are safe for concurrent use.
type DB struct{}

// Open locks Dir, validates all that is in it, replays the journal, and names
// file and offset of what is wrong.
func Open(o Options) (*DB, error) { panic("being built") }

// Close writes a snapshot and unlocks. No other method may run or follow.
func (db *DB) Close() error { panic("being built") }

// Run does the periodic work (count journal to disk every second, snapshots,
// generations that age out) until ctx ends. It returns nil at ctx's end.
func (db *DB) Run(ctx context.Context) error { panic("being built") }

// Evidence is the answer to both questions about one message.
type Evidence struct {
	Listed  bool    // some signature was reported and not revoked
	Matches []Match // the signatures with a listing or a revocation, listed ones first
	Count   uint64  // how often the message was seen: the largest over its counting keys, all sites summed
	Sites   int     // listed: sites that reported it; else sites that counted it
}

// Match is a signature found in a report generation; the newest generation
// wins, within one the revocation wins.
type Match struct {
	Signature  signature.Signature
	Revoked    bool
	Generation int64 // number of the period since 1970
	Sites      []string
}

// Judge asks the filters. It does no I/O and cannot fail.
func (db *DB) Judge(set signature.Set) Evidence { panic("being built") }

// Count adds n sightings of a message to the current counting generation. It
// does not wait for the disk: up to a second of counts is lost by a crash. An
// error (disk full) means that the count stands in memory only.
func (db *DB) Count(set signature.Set, n uint32) error { panic("being built") }

// Report lists all of set's signatures as spam. When it returns nil, the report
// is on disk. ErrNothing, ErrFull, ErrClosed or a wrapped I/O error.
func (db *DB) Report(set signature.Set) error { panic("being built") }

// Revoke takes a listing back for all of set's signatures; durable like Report.
func (db *DB) Revoke(set signature.Set) error { panic("being built") }

// Trace says, for one signature, everything that speaks for or against it.
type Trace struct {
	Signature signature.Signature
	Spam      []Trail // generations and sites that reported it
	Revoked   []Trail
	Counts    []Trail // per counting generation and site
}

// Trail is one generation's and site's part of a Trace.
type Trail struct {
	Site       string
	Generation int64
	Start      time.Time // begin of the generation's period
	Count      uint64    // for Counts
}

// Explain traces every signature of set, newest generation first.
func (db *DB) Explain(set signature.Set) []Trace { panic("being built") }

// Status is what the database knows about itself.
type Status struct {
	Site    string         `json:"site"`
	Epoch   uint64         `json:"epoch"`
	KeyID   string         `json:"key_id"`
	Filters []FilterStatus `json:"filters"`      // newest generation first
	Sites   []SiteStatus   `json:"sites"`        // this site first
	Memory  int64          `json:"memory_bytes"` // held for filters and parts
	Journal int64          `json:"journal_bytes"`
	Error   string         `json:"error,omitempty"` // the journal's fault, while it lasts

	// ErrorPerMail estimates, from today's fill, the chance that a message nobody
	// reported is called listed.
	ErrorPerMail float64 `json:"error_per_mail"`
}

// FilterStatus describes one generation of one filter.
type FilterStatus struct {
	Kind       string    `json:"kind"` // spam, revoked, counts
	Generation int64     `json:"generation"`
	Start      time.Time `json:"start"`
	Fill       float64   `json:"fill"`  // share of bits or cells in use, all sites
	Error      float64   `json:"error"` // chance that one absent key is found
	Memory     int64     `json:"memory_bytes"`
}

// SiteStatus describes what is held of one origin.
type SiteStatus struct {
	Site  string `json:"site"`
	Epoch uint64 `json:"epoch"`
	Seq   uint64 `json:"seq"`   // this site: last delta made; others: last delta applied
	Cells int64  `json:"cells"` // bits and cells held
	Gaps  int64  `json:"gaps"`  // deltas that were never seen
}

// Status is cheap enough for a scrape every few seconds.
func (db *DB) Status() Status { panic("being built") }

// Check validates the invariants of memory and disk; it is `spambloom fsck` and
// the end of every test.
func (db *DB) Check() error { panic("being built") }

// Delta is one message of the exchange: the encoded record and where it stands.
type Delta struct {
	Site  string
	Epoch uint64 // larger for a state folder made later
	Seq   uint64 // 1, 2, 3, ... within an epoch
	Data  []byte // the record; at most 1 MiB
}

// NextDelta encodes what changed since the last one, as the record with
// sequence number after+1, where after is the last number known to be in the
// stream. It returns false when nothing changed. The same delta is returned
// until Published is told, so a retry cannot lose or double anything.
func (db *DB) NextDelta() (Delta, bool, error) { panic("being built") }

// Published says that the delta stands in the stream and need not be kept.
func (db *DB) Published(d Delta) error { panic("being built") }

// Resume tells, before the first NextDelta, which (epoch, seq) the stream of
// this site ends with (zeros: it is empty or gone). Where the stream lacks what
// was published before, everything live is published again.
func (db *DB) Resume(epoch, seq uint64) error { panic("being built") }

// Head is the (epoch, seq) of the last delta that was Published.
func (db *DB) Head() (epoch, seq uint64) { panic("being built") }

// Cursor is the (epoch, seq) of the last delta applied of a site; zeros for
// none.
func (db *DB) Cursor(site string) (epoch, seq uint64) { panic("being built") }

// Apply joins another site's delta. Applying one twice, late or out of order
// changes nothing. A record whose seq is not the cursor's next one is refused
// with ErrGap and nothing is changed, unless gapOK: then it is applied, the
// cursor moves on, and the gap is counted. Own records are ignored (nil).
// ErrFederation, ErrParameters (both sides' values in the text), or an error
// that says what is torn.
func (db *DB) Apply(data []byte, gapOK bool) error { panic("being built") }

// DecodeOrigin reads site, epoch and seq of a record without applying it.
func DecodeOrigin(data []byte) (site string, epoch, seq uint64, err error) { panic("being built") }

// NewKey makes a federation key. ReadKey and WriteKey hold it as 64 hex digits
// on one line, file mode 0600.
func NewKey() ([32]byte, error)                { panic("being built") }
func ReadKey(path string) ([32]byte, error)    { panic("being built") }
func WriteKey(path string, key [32]byte) error { panic("being built") }

// KeyID names a federation key without giving it away: 16 hex digits.
func KeyID(key [32]byte) string { panic("being built") }
