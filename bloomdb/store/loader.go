package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
)

// OwnLoader loads snapshots of this site's own filters.
type OwnLoader struct {
	Store  *Store
	Want   layout.Target
	Path   string
	Site   string // the site that the file names
	Bits   *filter.Bits
	counts *filter.Counts
}

func (l *OwnLoader) Section(sec snapshot.Section) (err error) {
	if sec.Target != l.Want || l.Bits != nil || l.counts != nil {
		return folder.Damaged(l.Path, 0, fmt.Errorf("it contains %s generation %d", sec.Target.Kind, sec.Target.Gen))
	}
	if l.Site != l.Store.Opt.Site {
		return folder.Damaged(l.Path, 0, fmt.Errorf("it belongs to site %s", l.Site))
	}
	if period := int64(l.Store.Opt.Period(sec.Target.Kind) / time.Second); sec.Period != period {
		return fmt.Errorf("%w: period of %d s, here %d", layout.ErrIdentity, sec.Period, period)
	}
	switch sec.Target.Kind {
	case layout.DomainFilter:
		l.counts, err = l.Store.OwnDomains(sec.Target.Gen, sec.Shape.Counts())
	case layout.CountFilter:
		l.counts, err = l.Store.ownCounts(sec.Target.Gen, sec.Shape.Counts())
	default:
		l.Bits, err = l.Store.OwnBits(sec.Target, sec.Shape.Bits())
	}
	return err
}

func (l *OwnLoader) Cells(_ snapshot.Section, cells []filter.Cell) error {
	if l.counts == nil {
		l.Bits.SetCells(cells)
		return nil
	}
	for _, c := range cells {
		l.counts.RaiseCell(c.Pos, c.Value)
	}
	return nil
}

func (l *OwnLoader) Raw(_ snapshot.Section, i uint64, code []byte) error {
	if l.counts != nil {
		l.counts.RaiseRaw(i, code)
	} else {
		l.Bits.OrRaw(i, code)
	}
	return nil
}

// SiteLoader loads snapshots of another site's parts.
type SiteLoader struct {
	Store  *Store
	Origin layout.Origin
	part   *PartOf
}

func (l *SiteLoader) Section(sec snapshot.Section) (err error) {
	if sec.Target.Kind == layout.DomainFilter {
		return fmt.Errorf("counts of %s are never published", sec.Target.Kind)
	}
	if period := int64(l.Store.Opt.Period(sec.Target.Kind) / time.Second); sec.Period != period {
		return fmt.Errorf("period of %d s, here %d", sec.Period, period)
	}
	if l.part = nil; l.Store.Opt.Unwanted(sec.Target.Kind) {
		return nil
	}
	l.part, err = l.Store.PartFor(l.Origin, sec.Target, sec.Shape)
	return err
}

func (l *SiteLoader) Cells(_ snapshot.Section, cells []filter.Cell) error {
	if l.part == nil {
		return nil
	}
	return l.part.Merge(cells)
}

func (l *SiteLoader) Raw(snapshot.Section, uint64, []byte) error {
	return errors.New("raw block in another site's snapshot")
}
