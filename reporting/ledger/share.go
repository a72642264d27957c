package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// No party may use up what all share. The parts of it that each may have:
const (
	reporterShare = 0.25 // a reporter
	trustedShare  = 0.5  // a spam trap, and a reporter in whose name an administrator reports
	originShare   = 0.75 // all reports that come one way: by one program that speaks for others
)

// CostUnit is the Cost of an Entry that takes all the room of a period.
const CostUnit = 1_000_000_000

// keptUnit is how many signatures count as one kept report.
const keptUnit = 16

// ErrShare is wrapped where an entry is refused since its reporter, or the program
// that speaks for the reporter, has used up its share. Others are not concerned.
var ErrShare = errors.New("share used up")

// ErrPeriodShare is ErrShare of what the filters hold in one period.
var ErrPeriodShare = fmt.Errorf("%w until the next period", ErrShare)

// share is what one party has taken.
type share struct {
	period time.Time // of used
	used   [2]int64  // by Stance, in parts of CostUnit
	kept   int64     // reports that are kept, in units of keptUnit signatures
	names  int64     // reporters that an origin brought, and are known
	via    string    // the origin that brought a reporter
}

// party names who has a share: a reporter, or an origin.
type party struct {
	kind byte // partyReporter or partyOrigin
	name string
}

const (
	partyReporter = 'r'
	partyOrigin   = 'o'
)

func (p party) key() []byte { return append([]byte{p.kind}, p.name...) }

// parties are those on whose shares a report is booked.
func parties(reporter, origin string) []party {
	list := []party{{partyReporter, reporter}}
	if origin != "" {
		list = append(list, party{partyOrigin, origin})
	}
	return list
}

func (s *share) encode() []byte {
	b := []byte(nil)
	for _, v := range []int64{int64(seconds(s.period)), s.used[Spam], s.used[Ham], s.kept, s.names} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	return appendText(b, s.via)
}

func decodeShare(data []byte) (*share, error) {
	d := &decoder{b: data}
	number := func() int64 { return int64(d.number(math.MaxInt64 / 2)) }
	s := &share{period: instant(d.number(math.MaxInt64 / 2))}
	s.used[Spam], s.used[Ham], s.kept, s.names = number(), number(), number(), number()
	s.via = d.text()
	if d.bad || len(d.b) > 0 {
		return nil, fmt.Errorf("share: %w: %d bytes", ErrDamaged, len(data))
	}
	return s, nil
}

// share reads what a party has taken; an empty one where that is nothing.
func (t *txn) share(p party) (*share, error) {
	data := t.shares.Get(p.key())
	if data == nil {
		return &share{}, nil
	}
	return decodeShare(data)
}

// putShare writes it, or deletes what says nothing.
func (t *txn) putShare(p party, s *share) error {
	if s.kept <= 0 && s.names <= 0 && s.via == "" && s.used == [2]int64{} {
		return t.shares.Delete(p.key())
	}
	return t.shares.Put(p.key(), s.encode())
}

// units is what a report counts as in the share of those that are kept: nobody can
// check that a request names one message only.
func units(signatures int) int64 { return int64(signatures+keptUnit-1) / keptUnit }

// most is the part of all that a share is, at least one.
func most(part float64, all int64) int64 { return max(int64(part*float64(all)), 1) }

// refuseShare says whose share an entry would take too much of; nil: it may be entered.
func (w *entering) refuseShare() (refused, err error) {
	for _, p := range parties(w.e.Reporter, w.e.Origin) {
		s, err := w.share(p)
		if err != nil {
			return nil, err
		}
		if refused := w.overShare(p, s); refused != nil {
			return refused, nil
		}
	}
	return nil, nil
}

func (w *entering) overShare(p party, s *share) error {
	part := reporterShare
	switch {
	case p.kind == partyOrigin:
		part = originShare
	case w.e.Trap || w.e.Trusted:
		part = trustedShare
	}
	used := int64(0)
	if s.period.Equal(w.e.Period) {
		used = s.used[w.e.Stance]
	}
	of := func(err error, what string) error {
		return fmt.Errorf("%w: %s has taken the %g %% of %s that one may have", err, p.name, 100*part, what)
	}
	switch {
	case w.e.Cost > 0 && used+w.e.Cost > most(part, CostUnit) && w.e.Stance == Ham:
		return of(ErrPeriodShare, "the period's revocations")
	case w.e.Cost > 0 && used+w.e.Cost > most(part, CostUnit):
		return of(ErrPeriodShare, "the period's reports")
	case s.kept+units(len(w.e.Set.Signatures)) > most(part, w.l.opt.Max):
		return of(ErrShare, "the reports that are kept")
	case p.kind == partyOrigin && w.row == nil && s.names+1 > most(part, maxReporters):
		return of(ErrShare, "the reporters that are kept")
	}
	return nil
}

// book takes an entry into the shares; isNew says that its reporter was not known.
func (w *entering) book(isNew bool) error {
	for _, p := range parties(w.e.Reporter, w.e.Origin) {
		s, err := w.share(p)
		if err != nil {
			return err
		}
		if !s.period.Equal(w.e.Period) {
			s.period, s.used = w.e.Period, [2]int64{}
		}
		s.used[w.e.Stance] += w.e.Cost
		s.kept += units(len(w.e.Set.Signatures))
		switch {
		case isNew && p.kind == partyOrigin:
			s.names++
		case isNew:
			s.via = w.e.Origin
		}
		if err := w.putShare(p, s); err != nil {
			return err
		}
	}
	return nil
}

// keep adds a report to those that are kept in the shares, or with a negative sign
// takes it away.
func (t *txn) keep(r *report, sign int64) error {
	row, err := t.reporterByID(r.reporter)
	if err != nil {
		return err
	}
	list := []party{{partyOrigin, r.origin}}
	if row != nil {
		list = parties(row.name, r.origin)
	}
	for _, p := range list {
		if p.name == "" {
			continue
		}
		s, err := t.share(p)
		if err != nil {
			return err
		}
		s.kept = max(s.kept+sign*units(len(r.set.Signatures)), 0)
		if err := t.putShare(p, s); err != nil {
			return err
		}
	}
	return nil
}

// dropShare forgets the share of a reporter who is forgotten.
func (t *txn) dropShare(reporter string) error {
	p := party{partyReporter, reporter}
	s, err := t.share(p)
	if err != nil {
		return err
	}
	if err := t.shares.Delete(p.key()); err != nil || s.via == "" {
		return err
	}
	origin := party{partyOrigin, s.via}
	if s, err = t.share(origin); err != nil {
		return err
	}
	s.names = max(s.names-1, 0)
	return t.putShare(origin, s)
}
