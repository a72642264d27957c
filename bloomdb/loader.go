package bloomdb

import (
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// ownLoader fills this site's own filters.
type ownLoader struct {
	store  *store
	want   target
	path   string
	site   string // that the file says it is of
	bits   *filter.Bits
	counts *filter.Counts
}

func (l *ownLoader) section(sec section) (err error) {
	if sec.target != l.want || l.bits != nil || l.counts != nil {
		return damaged(l.path, 0, fmt.Errorf("it holds %s generation %d", sec.target.kind, sec.target.gen))
	}
	if l.site != l.store.opt.Site {
		return damaged(l.path, 0, fmt.Errorf("it is of site %s", l.site))
	}
	if period := int64(l.store.opt.period(sec.target.kind) / time.Second); sec.period != period {
		return fmt.Errorf("%w: period of %d s, here %d", ErrIdentity, sec.period, period)
	}
	switch sec.target.kind {
	case domainFilter:
		l.counts, err = l.store.ownDomains(sec.target.gen, sec.shape.counts())
	case countFilter:
		l.counts, err = l.store.ownCounts(sec.target.gen, sec.shape.counts())
	default:
		l.bits, err = l.store.ownBits(sec.target, sec.shape.bits())
	}
	return err
}

func (l *ownLoader) cells(_ section, cells []filter.Cell) error {
	if l.counts == nil {
		l.bits.SetCells(cells)
		return nil
	}
	for _, c := range cells {
		l.counts.RaiseCell(c.Pos, c.Value)
	}
	return nil
}

func (l *ownLoader) raw(_ section, i uint64, code []byte) error {
	if l.counts != nil {
		l.counts.RaiseRaw(i, code)
	} else {
		l.bits.OrRaw(i, code)
	}
	return nil
}

// siteLoader fills another site's parts.
type siteLoader struct {
	store  *store
	origin origin
	part   *partOf
}

func (l *siteLoader) section(sec section) (err error) {
	if sec.target.kind == domainFilter {
		return fmt.Errorf("counts of %s, which no site tells", sec.target.kind)
	}
	if period := int64(l.store.opt.period(sec.target.kind) / time.Second); sec.period != period {
		return fmt.Errorf("period of %d s, here %d", sec.period, period)
	}
	if l.part = nil; l.store.opt.unwanted(sec.target.kind) {
		return nil
	}
	l.part, err = l.store.partFor(l.origin, sec.target, sec.shape)
	return err
}

func (l *siteLoader) cells(_ section, cells []filter.Cell) error {
	if l.part == nil {
		return nil
	}
	return l.part.merge(cells)
}

func (l *siteLoader) raw(section, uint64, []byte) error {
	return errors.New("a raw block, which only this site's own filters have")
}
