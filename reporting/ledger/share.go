package ledger

import (
	"errors"
	"fmt"

	"github.com/spambloom/spambloom/reporting/ledger/record"
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

// parties are those on whose shares a report is booked.
func parties(reporter, origin string) []record.Party {
	list := []record.Party{{Kind: record.PartyReporter, Name: reporter}}
	if origin != "" {
		list = append(list, record.Party{Kind: record.PartyOrigin, Name: origin})
	}
	return list
}

// share reads what a party has taken; an empty one where that is nothing.
func (t *txn) share(p record.Party) (*record.Share, error) {
	data := t.shares.Get(p.Key())
	if data == nil {
		return &record.Share{}, nil
	}
	return record.DecodeShare(data)
}

// putShare writes it, or deletes what says nothing.
func (t *txn) putShare(p record.Party, s *record.Share) error {
	if s.Kept <= 0 && s.Names <= 0 && s.Via == "" && s.Used == [2]int64{} {
		return t.shares.Delete(p.Key())
	}
	return t.shares.Put(p.Key(), s.Encode())
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

func (w *entering) overShare(p record.Party, s *record.Share) error {
	part := reporterShare
	switch {
	case p.Kind == record.PartyOrigin:
		part = originShare
	case w.e.Trap || w.e.Trusted:
		part = trustedShare
	}
	used := int64(0)
	if s.Period.Equal(w.e.Period) {
		used = s.Used[w.e.Stance]
	}
	of := func(err error, what string) error {
		return fmt.Errorf("%w: %s has taken the %g %% of %s that one may have", err, p.Name, 100*part, what)
	}
	switch {
	case w.e.Cost > 0 && used+w.e.Cost > most(part, CostUnit) && w.e.Stance == Ham:
		return of(ErrPeriodShare, "the period's revocations")
	case w.e.Cost > 0 && used+w.e.Cost > most(part, CostUnit):
		return of(ErrPeriodShare, "the period's reports")
	case s.Kept+units(len(w.e.Set.Signatures)) > most(part, w.l.opt.Max):
		return of(ErrShare, "the reports that are kept")
	case p.Kind == record.PartyOrigin && w.row == nil && s.Names+1 > most(part, maxReporters):
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
		if !s.Period.Equal(w.e.Period) {
			s.Period, s.Used = w.e.Period, [2]int64{}
		}
		s.Used[w.e.Stance] += w.e.Cost
		s.Kept += units(len(w.e.Set.Signatures))
		switch {
		case isNew && p.Kind == record.PartyOrigin:
			s.Names++
		case isNew:
			s.Via = w.e.Origin
		}
		if err := w.putShare(p, s); err != nil {
			return err
		}
	}
	return nil
}

// keep adds a report to those that are kept in the shares, or with a negative sign
// takes it away.
func (t *txn) keep(r *record.Report, sign int64) error {
	row, err := t.reporterByID(r.Reporter)
	if err != nil {
		return err
	}
	list := []record.Party{{Kind: record.PartyOrigin, Name: r.Origin}}
	if row != nil {
		list = parties(row.Name, r.Origin)
	}
	for _, p := range list {
		if p.Name == "" {
			continue
		}
		s, err := t.share(p)
		if err != nil {
			return err
		}
		s.Kept = max(s.Kept+sign*units(len(r.Set.Signatures)), 0)
		if err := t.putShare(p, s); err != nil {
			return err
		}
	}
	return nil
}

// dropShare forgets the share of a reporter who is forgotten.
func (t *txn) dropShare(reporter string) error {
	p := record.Party{Kind: record.PartyReporter, Name: reporter}
	s, err := t.share(p)
	if err != nil {
		return err
	}
	if err := t.shares.Delete(p.Key()); err != nil || s.Via == "" {
		return err
	}
	origin := record.Party{Kind: record.PartyOrigin, Name: s.Via}
	if s, err = t.share(origin); err != nil {
		return err
	}
	s.Names = max(s.Names-1, 0)
	return t.putShare(origin, s)
}
