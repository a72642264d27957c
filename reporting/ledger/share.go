package ledger

import (
	"errors"
	"fmt"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/ledger/rows"
)

// The parts of a shared resource that one party may use.
const (
	wayShare      = 0.25 // a reporter by one way: a program that reports for others leaves theirs to them
	reporterShare = 0.5  // a reporter by all ways; by one way a spam trap, and one in whose name an administrator reports
	originShare   = 0.75 // all reports of one origin: of one program that reports for others
)

// CostUnit is the Cost of an Entry that takes the whole room of a period.
const CostUnit = 1_000_000_000

// ErrShare is the error for an entry whose reporter or origin has used up its share. Other
// parties are not affected.
var ErrShare = errors.New("share used up")

// ErrPeriodShare is the ErrShare for the room in the filters in one period.
var ErrPeriodShare = fmt.Errorf("%w until the next period", ErrShare)

// most returns the size of a share, at least 1.
func most(part float64, all int64) int64 { return max(int64(part*float64(all)), 1) }

// refuseShare returns refused if an entry would exceed a share.
func (w *entering) refuseShare() (refused, err error) {
	for _, p := range record.PartiesOf(w.e.Reporter, w.e.Origin) {
		s, err := w.Share(p)
		if err != nil {
			return nil, err
		}
		if refused := w.overShare(p, s); refused != nil {
			return refused, nil
		}
	}
	return nil, nil
}

func (w *entering) overShare(p record.Party, s *record.Share) error {
	part := reporterShare
	switch {
	case p.Kind == record.PartyOrigin:
		part = originShare
	case p.Kind == record.PartyWay && !w.e.Trap && !w.e.Trusted:
		part = wayShare
	}
	used := int64(0)
	if s.Period.Equal(w.e.Period) {
		used = s.Used[w.e.Stance]
	}
	of := func(err error, what string) error {
		return fmt.Errorf("%w: %s has taken the %g %% of %s that one may have", err, p, 100*part, what)
	}
	switch {
	case w.e.Cost > 0 && used+w.e.Cost > most(part, CostUnit) && w.e.Stance == Ham:
		return of(ErrPeriodShare, "the period's revocations")
	case w.e.Cost > 0 && used+w.e.Cost > most(part, CostUnit):
		return of(ErrPeriodShare, "the period's reports")
	case s.Kept+rows.Units(len(w.e.Set.Signatures)) > most(part, w.l.opt.Max):
		return of(ErrShare, "the reports that are kept")
	case p.Kind == record.PartyOrigin && w.row == nil && s.Names+1 > most(part, maxReporters):
		return of(ErrShare, "the reporters that are kept")
	}
	return nil
}

// book adds an entry to the shares of its parties. isNew reports whether its reporter is new.
func (w *entering) book(isNew bool) error {
	for _, p := range record.PartiesOf(w.e.Reporter, w.e.Origin) {
		s, err := w.Share(p)
		if err != nil {
			return err
		}
		if !s.Period.Equal(w.e.Period) {
			s.Period, s.Used = w.e.Period, [2]int64{}
		}
		s.Used[w.e.Stance] += w.e.Cost
		s.Kept += rows.Units(len(w.e.Set.Signatures))
		switch {
		case isNew && p.Kind == record.PartyOrigin:
			s.Names++
		case isNew && p.Kind == record.PartyReporter:
			s.Via = w.e.Origin
		}
		if err := w.PutShare(p, s); err != nil {
			return err
		}
	}
	return nil
}
