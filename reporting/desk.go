package reporting

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/text/unicode/norm"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// maxReporter bounds a reporter's name in bytes: an address has at most 254
// (RFC 5321, section 4.5.3.1.3, without the brackets).
const maxReporter = 254

// CheckReporter refuses names that are too long or hold anything but visible
// characters, as they would disturb logs. The empty name is allowed.
func CheckReporter(name string) error {
	if len(name) > maxReporter {
		return fmt.Errorf("reporter of %d bytes; at most %d", len(name), maxReporter)
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("reporter %q is not UTF-8", name)
	}
	for _, r := range name {
		if !unicode.IsGraphic(r) || unicode.IsSpace(r) {
			return fmt.Errorf("reporter %q: %q is not allowed in a name", name, r)
		}
	}
	return nil
}

// foldReporter is the name under which a reporter is kept. Letters count in either case:
// who speaks for others passes on what somebody has typed, and Anna@Example.org must not
// be another person than anna@example.org.
func foldReporter(name string) string {
	if folded := strings.ToLower(norm.NFC.String(name)); len(folded) <= maxReporter {
		return folded
	}
	return name
}

// Report is one person's word about one message.
type Report struct {
	Set      signature.Set
	Reporter string        // who says so; "": nobody knows
	Class    bloomdb.Class // no effect on revocations but in the log
	Origin   Origin
	Trap     bool // a spam trap: of full weight
	Trusted  bool // as often as they like: traps, and who administrates
}

// Outcome is what became of a report or a revocation.
type Outcome struct {
	Evidence bloomdb.Evidence // what is known of the message from now on

	// Sum and Quorum are the weight of those who say so, and how much it takes, where
	// that is not reached yet; else 0.
	Sum, Quorum float64

	Idle bool // a revocation of what is not listed, and nobody had reported: nothing is written

	RevokedUntil time.Time // a report has no effect before: a revocation of this period wins; else zero

	// Returned says that a message which was taken back now was so before, and had come
	// back: a retouch would keep it away.
	Returned bool
}

// DeskOptions are what a Desk needs beside its database and its ledger.
type DeskOptions struct {
	Period  time.Duration // of the database's generations of reports; 0: a week
	MaxHour int           // reports and revocations of one reporter in an hour; 0: no limit
	Log     *slog.Logger  // nil: discard
}

// Desk accepts reports and revocations, or says why not. The ledger knows who reported
// what and decides what is listed; the desk carries that out in the database. It is
// safe for concurrent use.
type Desk struct {
	db       *bloomdb.DB
	ledger   *ledger.Ledger
	opt      DeskOptions
	limits   *limits
	overdue  atomic.Bool // a decision could not be carried out
	log      *slog.Logger
	accepted *prometheus.CounterVec
	refused  *prometheus.CounterVec
}

// NewDesk returns the desk before db, with the ledger of its reports. Run carries out
// what a crash has left in the ledger.
func NewDesk(db *bloomdb.DB, l *ledger.Ledger, o DeskOptions) *Desk {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Period == 0 {
		o.Period = 7 * 24 * time.Hour
	}
	d := &Desk{
		db: db, ledger: l, opt: o, limits: newLimits(o.MaxHour),
		log: o.Log,
		accepted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spambloom_reports_total",
			Help: "Reports and revocations accepted: they are on disk, or there was nothing to revoke.",
		}, []string{"action", "class"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spambloom_reports_refused_total",
			Help: "Reports and revocations refused, by reason.",
		}, []string{"action", "reason"}),
	}
	d.overdue.Store(true)
	return d
}

// Collectors are the desk's metrics.
func (d *Desk) Collectors() []prometheus.Collector {
	return []prometheus.Collector{d.accepted, d.refused, ledgerCollector{d}}
}

// Report takes a report of spam. When the error is nil, it is on disk, and the message
// is listed if those who report it have the quorum. It may still not be spam, as a
// revocation of the same period wins. Errors are those of bloomdb.DB.Report, ErrTooMany,
// and the ledger's, of which ledger.ErrShare is about the reporter only.
func (d *Desk) Report(r Report) (Outcome, error) { return d.accept("report", ledger.Spam, r) }

// Revoke takes a revocation; outcome and errors as for Report. A revocation of what is
// not listed, and nobody reported here, writes nothing.
func (d *Desk) Revoke(r Report) (Outcome, error) { return d.accept("revoke", ledger.Ham, r) }

func (d *Desk) accept(action string, stance ledger.Stance, r Report) (Outcome, error) {
	o, decision, err := d.enter(stance, r)
	if err != nil {
		d.refused.WithLabelValues(action, reason(err)).Inc()
		return Outcome{}, err
	}
	d.accepted.WithLabelValues(action, r.Class.String()).Inc()
	d.log.Info(action+" accepted",
		"reporter", r.Reporter, "class", r.Class, r.Origin.attr(),
		"kinds", kinds(r.Set.Signatures), "ids", ids(r.Set.Signatures), "listed", o.Evidence.Listed,
		"weight", decision.Weight.Float(), "sum", decision.Sum.Float(), "quorum", decision.Quorum.Float(), "idle", o.Idle)
	return o, nil
}

// enter puts a report into the ledger and carries out what that decides.
func (d *Desk) enter(stance ledger.Stance, r Report) (o Outcome, decision ledger.Decision, err error) {
	now := d.db.Now()
	r.Reporter = foldReporter(cmp.Or(r.Reporter, anonymous))
	set, err := d.admit(stance, r, now)
	if err != nil {
		return o, decision, err
	}
	var before bloomdb.Evidence // of a revocation
	entry := d.entry(stance, r, set, now)
	if stance == ledger.Ham {
		before, entry.Listed = d.db.Judge(r.Set), d.db.Stands(r.Set)
		reported, err := d.ledger.Reported(entry.Set, entry.Anchors)
		if err != nil {
			return o, decision, err
		}
		if !entry.Listed && !reported {
			return Outcome{Evidence: before, Idle: true}, ledger.Decision{Quorum: d.ledger.Quorum()}, nil
		}
	}
	if decision, err = d.ledger.Enter(entry); err != nil {
		return o, decision, d.named(err, now)
	}
	whole := decision
	whole.Set.Sketches = nil // the ledger has their essence
	for _, place := range decision.Places {
		whole.Set.Sketches = append(whole.Set.Sketches, set.Sketches[place])
	}
	if err := d.carryOut(whole); err != nil {
		d.overdue.Store(true)
		return o, decision, err
	}
	o = d.outcome(stance, r, decision)
	o.Returned = before.Listed && !decision.Revoked.IsZero()
	return o, decision, nil
}

// admit says what of a message may be entered, and takes it into the reporter's hour.
func (d *Desk) admit(stance ledger.Stance, r Report, now time.Time) (set signature.Set, err error) {
	set = r.Set
	if stance == ledger.Ham {
		err = d.db.Revocable(set)
	} else {
		set, err = d.db.Reportable(set)
	}
	if err == nil && !r.Trap && !r.Trusted {
		err = d.limits.take(r.Reporter, len(set.Signatures), now)
	}
	return set, err
}

// outcome is what became of an entry that was carried out.
func (d *Desk) outcome(stance ledger.Stance, r Report, decision ledger.Decision) Outcome {
	o := Outcome{Evidence: d.db.Judge(r.Set), Idle: decision.Idle}
	if !o.Idle && decision.Sum < decision.Quorum && (stance == ledger.Spam) != o.Evidence.Listed {
		o.Sum, o.Quorum = decision.Sum.Float(), decision.Quorum.Float()
	}
	if stance == ledger.Spam && !o.Evidence.Listed && o.Quorum == 0 {
		o.RevokedUntil = d.revokedUntil(r.Set)
	}
	return o
}

// named adds to a refusal for a period's share when the next period begins.
func (d *Desk) named(err error, now time.Time) error {
	if errors.Is(err, ledger.ErrPeriodShare) {
		return fmt.Errorf("%w; the next period begins %s", err, d.period(now).Add(d.opt.Period).Format("2006-01-02 15:04Z"))
	}
	return err
}

// anonymous is the reporter of whom the system knows no name.
const anonymous = "anonymous"

func (d *Desk) entry(stance ledger.Stance, r Report, set signature.Set, now time.Time) ledger.Entry {
	e := ledger.Entry{
		Stance: stance, Reporter: r.Reporter, Trap: r.Trap, At: now, Period: d.period(now),
		Class: uint8(r.Class), Origin: r.Origin.String(), Set: d.db.Essence(set), Trusted: r.Trusted,
		Cost: int64(math.Ceil(d.db.Cost(set, stance == ledger.Ham) * ledger.CostUnit)),
	}
	if r.Trap {
		e.Origin = "trap"
	}
	e.Anchors = d.anchors(e.Set.Sketches)
	return e
}

// anchors are those of sketches that can be reported.
func (d *Desk) anchors(sketches []signature.Sketch) []ledger.Anchors {
	list := make([]ledger.Anchors, len(sketches))
	for i, s := range sketches {
		if hashes := d.db.Anchors(s); !s.AskOnly && len(hashes) > 0 {
			list[i] = ledger.Anchors{Hashes: hashes, Need: d.db.AnchorsNeed(s.Kind, len(hashes))}
		}
	}
	return list
}

// period is the begin of the period in which a time is.
func (d *Desk) period(now time.Time) time.Time {
	seconds := int64(d.opt.Period / time.Second)
	return time.Unix(now.Unix()/seconds*seconds, 0).UTC()
}

// carryOut does what the ledger has decided, and tells it so. What the database will
// never take is given up.
func (d *Desk) carryOut(decision ledger.Decision) (err error) {
	switch decision.Action {
	case ledger.List:
		err = d.db.Report(decision.Set, bloomdb.Class(decision.Class))
	case ledger.Revoke:
		err = d.db.Revoke(decision.Set)
	}
	if err == nil || errors.Is(err, bloomdb.ErrNever) || errors.Is(err, bloomdb.ErrNothing) {
		d.ledger.Settle(decision)
	}
	return err
}

// revokedUntil is when the last revocation of a message stops outweighing
// reports: at the end of its period. Zero where nobody revoked the message.
func (d *Desk) revokedUntil(set signature.Set) time.Time {
	var until time.Time
	for _, t := range d.db.Explain(set) {
		for _, trail := range t.Revoked {
			if end := trail.Start.Add(period(trail)); end.After(until) {
				until = end
			}
		}
	}
	return until
}

// period is the length of a generation's period: generations are numbered from
// 1970 on.
func period(t bloomdb.Trail) time.Duration {
	return time.Duration(t.Start.Unix()/max(t.Generation, 1)) * time.Second
}

// reason names a refusal for the metric.
func reason(err error) string {
	switch {
	case errors.Is(err, bloomdb.ErrNothing):
		return "too_little_content"
	case errors.Is(err, bloomdb.ErrNever):
		return "never"
	case errors.Is(err, bloomdb.ErrFull), errors.Is(err, ledger.ErrFull):
		return "full"
	case errors.Is(err, ErrTooMany):
		return "too_many"
	case errors.Is(err, ledger.ErrShare):
		return "share"
	case errors.Is(err, bloomdb.ErrClosed), errors.Is(err, ledger.ErrClosed):
		return "closing"
	}
	return "storage"
}

func ids(signatures []signature.Signature) []string {
	list := make([]string, len(signatures))
	for i, s := range signatures {
		list[i] = s.ID()
	}
	return list
}

// kinds names the kinds in order, each once.
func kinds(signatures []signature.Signature) []string {
	var list []string
	seen := map[signature.Kind]bool{}
	for _, s := range signatures {
		if !seen[s.Kind] {
			seen[s.Kind] = true
			list = append(list, s.Kind.String())
		}
	}
	return list
}
