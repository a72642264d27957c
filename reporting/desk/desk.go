package desk

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk/answer"
	"github.com/spambloom/spambloom/reporting/desk/gauges"
	"github.com/spambloom/spambloom/reporting/desk/hourly"
	"github.com/spambloom/spambloom/reporting/desk/order"
	"github.com/spambloom/spambloom/reporting/desk/reserve"
	"github.com/spambloom/spambloom/reporting/desk/waitlist"
	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// Report is a report or a revocation of one message by one reporter.
type Report struct {
	Set      signature.Set
	Reporter string        // empty: nobody is named
	Class    bloomdb.Class // a revocation only logs it
	Origin   Origin
	Trap     bool // by a spam trap: it has full weight
	Trusted  bool // without a limit per hour: by an administrator

	Administers bool // the reporter is an administrator, whose report is not held

	settles bool // an administrator settles the message by it
}

// Outcome is the effect of a report or a revocation.
type Outcome struct {
	IDs      []string         // of the message's signatures
	Evidence bloomdb.Evidence // on the message, from now on

	// Sum and Quorum are set if more reporters are needed: the weight of those who agree,
	// and the weight that is needed.
	Sum, Quorum float64

	Known bool // the reporter had made the same statement before: nothing new was entered

	Idle  bool      // a revocation without effect: the message is not listed, and nobody had reported it
	Waits time.Time // an Idle one acts if another site lists the message before then; zero: it does not

	// RevokedUntil is set if the message has changed sides so often in this period that only a
	// revocation could follow (layout.Rungs). A report has an effect from then on.
	RevokedUntil time.Time

	Holds string // one sentence: what holds now, here and elsewhere, and from when

	Settled bool // an administrator has settled the message as the opposite

	Like ledger.Likeness // unreported mail that a report hits; zero: none, or the message was reported before
	Held bool            // a report that lists nothing until a second reporter or an administrator agrees

	// Returned reports whether a message that is revoked now was revoked before and was
	// listed again, by somebody else. Only an administrator of this site keeps it away.
	Returned bool
}

// Options of a Desk.
type Options struct {
	Period  time.Duration // of the database's generations of reports; 0: a week
	MaxHour int           // reports and revocations of one reporter in an hour; 0: no limit
	Joined  bool          // to other sites, whose listings a revocation may wait for
	Judged  *judged.List  // messages that were judged lately; nil: none are remembered

	Listed   *judged.Hashes // the latest mail that matched a report; nil: none is remembered
	Unlisted *judged.Hashes // the latest mail that matched none; nil: none is remembered
	HoldFrom uint64         // a report that hits so many mails of Unlisted in a day is held; 0: none is

	Log *slog.Logger // nil: discard
}

// Desk accepts reports and revocations, or refuses them. It is safe for concurrent use.
type Desk struct {
	db       *bloomdb.DB
	ledger   *ledger.Ledger
	opt      Options
	begun    time.Time // from then on, mail is remembered
	limits   *hourly.Limits
	overdue  atomic.Bool // a decision of the ledger is not carried out yet
	order    order.Order
	undoing  sync.RWMutex // see Undo; taken before order
	undo     reserve.Undo // its lock is taken after undoing, before order
	settling sync.Mutex   // see loadSettled; taken after order
	waiting  waitlist.List
	looks    []time.Time // see expire
	log      *slog.Logger
	accepted *prometheus.CounterVec
	refused  *prometheus.CounterVec
	decided  *prometheus.CounterVec
}

// New returns a desk. Run carries out the decisions that a crash has left in the ledger.
func New(db *bloomdb.DB, l *ledger.Ledger, o Options) *Desk {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Judged == nil {
		o.Judged = judged.New(db.Now(), 0)
	}
	if o.Listed == nil {
		o.Listed = judged.NewHashes(0)
	}
	if o.Unlisted == nil {
		o.Unlisted = judged.NewHashes(0)
	}
	if o.Period == 0 {
		o.Period = 7 * 24 * time.Hour
	}
	d := &Desk{
		db: db, ledger: l, opt: o, begun: db.Now(), limits: hourly.New(o.MaxHour),
		log: o.Log,
		accepted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spambloom_reports_total",
			Help: "Reports and revocations accepted: they are on disk, or there was nothing to revoke.",
		}, []string{"action", "class"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spambloom_reports_refused_total",
			Help: "Reports and revocations refused, by reason.",
		}, []string{"action", "reason"}),
		decided: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spambloom_decisions_total",
			Help: "Messages listed or revoked by the reporters of this site; other sites receive these decisions.",
		}, []string{"action"}),
	}
	d.startMetrics()
	d.overdue.Store(true)
	d.loadSettled()
	return d
}

// Collectors returns the desk's metrics.
func (d *Desk) Collectors() []prometheus.Collector {
	return []prometheus.Collector{d.accepted, d.refused, d.decided, gauges.Ledger{Ledger: d.ledger}}
}

// Values of the label action of decisions.
const (
	decisionList   = "list"
	decisionRevoke = "revoke"
)

// startMetrics creates the series with known labels, because alerts need them from the
// first scrape on.
func (d *Desk) startMetrics() {
	for _, action := range []string{"report", "revoke"} {
		for _, class := range bloomdb.Classes() {
			d.accepted.WithLabelValues(action, class.String())
		}
		for _, err := range []error{bloomdb.ErrNothing, bloomdb.ErrNever, bloomdb.ErrFull, ErrTooMany, ledger.ErrShare, bloomdb.ErrClosed, nil} {
			d.refused.WithLabelValues(action, reason(err))
		}
		d.refused.WithLabelValues(action, reasonRight)
	}
	d.decided.WithLabelValues(decisionList)
	d.decided.WithLabelValues(decisionRevoke)
}

// reasonRight is the reason of a request that was refused for lack of a right.
const reasonRight = "not_allowed"

// Refuse counts a request that was refused for lack of a right.
func (d *Desk) Refuse(action string) { d.refused.WithLabelValues(action, reasonRight).Inc() }

// ErrTooMany is the error for a reporter with too many reports in the last hour.
var ErrTooMany = hourly.ErrTooMany

// Report enters a report of spam. When the error is nil, the report is on disk, and the
// message is listed if its reporters have the quorum, also if it was revoked before. Errors are
// those of bloomdb.DB.Report, signature.ErrNoHeader, ErrTooMany, ErrRevokedOften, and those of the
// ledger; ledger.ErrShare concerns one reporter only.
func (d *Desk) Report(r Report) (Outcome, error) { return d.accept("report", ledger.Spam, r) }

// Revoke enters a revocation. Outcome and errors are those of Report. A revocation of a
// message that is not listed and that nobody reported here changes no filter. At a site that is
// joined to others it waits for some time for a listing of theirs (waitlist).
func (d *Desk) Revoke(r Report) (Outcome, error) { return d.accept("revoke", ledger.Ham, r) }

func (d *Desk) accept(action string, stance ledger.Stance, r Report) (Outcome, error) {
	o, decision, err := d.enter(stance, r)
	if err != nil {
		d.refused.WithLabelValues(action, reason(err)).Inc()
		return Outcome{}, err
	}
	kinds := answer.Kinds(r.Set.Signatures)
	o.IDs, o.Holds = answer.IDs(r.Set.Signatures), d.holds(stance, r.Set, o)
	d.accepted.WithLabelValues(action, r.Class.String()).Inc()
	d.log.Info(action+" accepted",
		"reporter", r.Reporter, "class", r.Class, r.Origin.Attr(),
		"kinds", kinds, "ids", o.IDs, "listed", o.Evidence.Listed,
		"weight", decision.Weight.Float(), "sum", decision.Sum.Float(), "quorum", decision.Quorum.Float(), "idle", o.Idle,
		"held", o.Held, "like_mails", o.Like.Mails, "like_senders", o.Like.Senders)
	return o, nil
}

// enter writes a report to the ledger and carries out the decision.
func (d *Desk) enter(stance ledger.Stance, r Report) (o Outcome, decision ledger.Decision, err error) {
	now := d.db.Now()
	r.Reporter = api.FoldReporter(cmp.Or(r.Reporter, Anonymous))
	set, err := d.admit(stance, r, now)
	if err != nil {
		return o, decision, err
	}
	var before bloomdb.Evidence // of a revocation
	entry := d.entry(stance, r, set, now)
	said, err := d.said(r, entry)
	if err != nil {
		return o, decision, err
	}
	d.undoing.RLock()
	defer d.undoing.RUnlock()
	defer d.order.Lock(entry.Set, entry.Anchors)()
	if stance == ledger.Ham {
		before, entry.Listed = d.db.Judge(r.Set), d.db.Stands(r.Set)
		revocable, err := d.ledger.Revocable(entry.Set, entry.Anchors, r.Reporter)
		if err != nil {
			return o, decision, err
		}
		if !entry.Listed && !revocable && !r.settles {
			if !d.opt.Joined || !d.waiting.Reserve(r.Reporter, entry.Origin) {
				return Outcome{Evidence: before, Idle: true}, ledger.Decision{Quorum: d.ledger.Quorum()}, nil
			}
			defer d.waiting.Release(r.Reporter, entry.Origin)
		}
	}
	if set, entry, err = d.withRoom(stance, r, set, entry, said); err != nil {
		return o, decision, err
	}
	entry.Voted = before.IsVoted()
	hits, err := d.hold(r, &entry)
	if err != nil {
		return o, decision, err
	}
	if decision, err = d.ledger.Enter(entry); err != nil {
		return o, decision, d.named(err, now)
	}
	if decision.ID == 0 {
		if err := d.refuseAgain(r.Set, entry); err != nil {
			return o, decision, err
		}
	}
	if r.settles {
		d.loadSettled() // first: it opens the rungs of an administrator
	}
	if err := d.carryOut(wholeOf(decision, set)); err != nil {
		d.overdue.Store(true)
		return o, decision, err
	}
	o = d.outcome(stance, r, decision, now)
	o.Like = hits
	o.Returned = before.Listed && !decision.Revoked.IsZero() && (decision.Others || answer.IsListedElsewhere(before, d.db.Site()))
	return o, decision, nil
}

// wholeOf returns a decision with the sketches of the message: those of the ledger are shortened.
func wholeOf(decision ledger.Decision, set signature.Set) ledger.Decision {
	decision.Set.Sketches = nil
	for _, place := range decision.Places {
		decision.Set.Sketches = append(decision.Set.Sketches, set.Sketches[place])
	}
	return decision
}

// admit returns the part of a message that may be entered, and counts it for the
// reporter's hour.
func (d *Desk) admit(stance ledger.Stance, r Report, now time.Time) (set signature.Set, err error) {
	if set = r.Set; set.NoHeader {
		return set, signature.ErrNoHeader
	}
	if stance == ledger.Ham {
		err = d.db.Revocable(set)
	} else {
		set, err = d.db.Reportable(set)
	}
	if err == nil && !r.Trap && !r.Trusted {
		err = d.limits.Take(r.Reporter, r.Origin.String(), len(set.Signatures), now)
	}
	return set, err
}

// outcome is called when the decision is carried out. An idle revocation begins to wait.
func (d *Desk) outcome(stance ledger.Stance, r Report, decision ledger.Decision, now time.Time) Outcome {
	o := Outcome{Evidence: d.db.Judge(r.Set), Idle: decision.Idle, Settled: decision.Settled, Held: decision.Held}
	o.Held = o.Held && !o.Evidence.Listed
	o.Known = decision.ID == 0 && !o.Idle
	if !o.Idle && !o.Settled && decision.Sum < decision.Quorum && (stance == ledger.Spam) != o.Evidence.Listed {
		o.Sum, o.Quorum = decision.Sum.Float(), decision.Quorum.Float()
	}
	if decision.Action == ledger.List && !o.Evidence.Listed && o.Quorum == 0 && !o.Settled && !o.Held {
		o.RevokedUntil = answer.RevokedUntil(d.db.Explain(r.Set))
	}
	if o.Idle && decision.ID != 0 {
		o.Waits = d.waiting.Add(decision.ID, r.Reporter, r.Origin.String(), now)
	}
	return o
}

// named adds the begin of the next period to a refusal for a period's share.
func (d *Desk) named(err error, now time.Time) error {
	if errors.Is(err, ledger.ErrPeriodShare) {
		return fmt.Errorf("%w; the next period begins %s", err, d.period(now).Add(d.opt.Period).Format("2006-01-02 15:04Z"))
	}
	return err
}

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

// anchors returns the anchors of the sketches that can be reported.
func (d *Desk) anchors(sketches []signature.Sketch) []ledger.Anchors {
	list := make([]ledger.Anchors, len(sketches))
	for i, s := range sketches {
		if hashes := d.db.Anchors(s); !s.AskOnly && len(hashes) > 0 {
			list[i] = ledger.Anchors{Hashes: hashes, Need: d.db.AnchorsNeed(s.Kind, len(hashes))}
		}
	}
	return list
}

// period returns the begin of a time's period.
func (d *Desk) period(now time.Time) time.Time {
	seconds := int64(d.opt.Period / time.Second)
	return time.Unix(now.Unix()/seconds*seconds, 0).UTC()
}

// carryOut carries out a decision of the ledger and settles it. A decision that the
// database will never accept is given up.
func (d *Desk) carryOut(decision ledger.Decision) (err error) {
	decided, again := "", false // another copy of a listed message is no further listing
	d.overdue.CompareAndSwap(false, decision.MoreDue)
	switch decision.Action {
	case ledger.List:
		again = d.db.IsReported(decision.Set)
		decided, err = decisionList, d.db.Report(decision.Set, bloomdb.Class(decision.Class))
	case ledger.Revoke:
		again = d.db.IsRevoked(decision.Set)
		decided, err = decisionRevoke, d.db.Revoke(decision.Set)
	}
	if decided != "" && !again && err == nil {
		d.decided.WithLabelValues(decided).Inc()
	}
	if err == nil || errors.Is(err, bloomdb.ErrNever) || errors.Is(err, bloomdb.ErrNothing) {
		d.ledger.Settle(decision)
	}
	return err
}

// reason returns the name of a refusal in the metric.
func reason(err error) string {
	switch {
	case errors.Is(err, bloomdb.ErrNothing):
		return "too_little_content"
	case errors.Is(err, signature.ErrNoHeader):
		return "no_header"
	case errors.Is(err, bloomdb.ErrNever):
		return "never"
	case errors.Is(err, bloomdb.ErrLearning):
		return "off"
	case errors.Is(err, bloomdb.ErrFull), errors.Is(err, ledger.ErrFull), errors.Is(err, bloomdb.ErrLearned):
		return "full"
	case errors.Is(err, ErrTooMany):
		return "too_many"
	case errors.Is(err, ledger.ErrShare), errors.Is(err, ErrRevokedOften):
		return "share"
	case errors.Is(err, bloomdb.ErrClosed), errors.Is(err, ledger.ErrClosed):
		return "closing"
	}
	return "storage"
}
