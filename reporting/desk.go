package reporting

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb"
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

// Report is one person's word about one message.
type Report struct {
	Set      signature.Set
	Reporter string        // who says so, unproven
	Class    bloomdb.Class // no effect on revocations but in the log
	Origin   Origin
}

// DeskOptions are what a Desk needs beside its database.
type DeskOptions struct {
	Log *slog.Logger // nil: discard
}

// Desk accepts reports and revocations, or says why not. It is safe for
// concurrent use.
type Desk struct {
	db       *bloomdb.DB
	log      *slog.Logger
	accepted *prometheus.CounterVec
	refused  *prometheus.CounterVec
}

// NewDesk returns the desk before db.
func NewDesk(db *bloomdb.DB, o DeskOptions) *Desk {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Desk{
		db:  db,
		log: o.Log,
		accepted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spambloom_reports_total",
			Help: "Reports and revocations accepted, which are on disk.",
		}, []string{"action", "class"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spambloom_reports_refused_total",
			Help: "Reports and revocations refused, by reason.",
		}, []string{"action", "reason"}),
	}
}

// Collectors are the desk's metrics.
func (d *Desk) Collectors() []prometheus.Collector {
	return []prometheus.Collector{d.accepted, d.refused}
}

// Report lists a message as spam. When the error is nil, the report is on disk,
// and the evidence is what is known of the message from now on: it may still not
// be listed, as a revocation of the same period wins. Errors are those of
// bloomdb.DB.Report.
func (d *Desk) Report(r Report) (bloomdb.Evidence, error) {
	return d.accept("report", r, func() error { return d.db.Report(r.Set, r.Class) })
}

// Revoke takes a listing back; evidence and errors as for Report.
func (d *Desk) Revoke(r Report) (bloomdb.Evidence, error) {
	return d.accept("revoke", r, func() error { return d.db.Revoke(r.Set) })
}

func (d *Desk) accept(action string, r Report, write func() error) (bloomdb.Evidence, error) {
	if err := write(); err != nil {
		d.refused.WithLabelValues(action, reason(err)).Inc()
		return bloomdb.Evidence{}, err
	}
	evidence := d.db.Judge(r.Set)
	d.accepted.WithLabelValues(action, r.Class.String()).Inc()
	d.log.Info(action+" accepted",
		"reporter", r.Reporter, "class", r.Class, r.Origin.attr(),
		"kinds", kinds(r.Set.Signatures), "ids", ids(r.Set.Signatures), "listed", evidence.Listed)
	return evidence, nil
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
	case errors.Is(err, bloomdb.ErrFull):
		return "full"
	case errors.Is(err, bloomdb.ErrClosed):
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
