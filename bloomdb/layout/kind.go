package layout

import (
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// FilterKind is one of the filters of a generation.
type FilterKind uint8

// The numbers stand in snapshots and deltas.
const (
	SpamFilter    FilterKind = 1
	RevokedFilter FilterKind = 2
	CountFilter   FilterKind = 3
	ClassFilter   FilterKind = 4
	SketchFilter  FilterKind = 5
	DomainFilter  FilterKind = 6 // counts; of this site only, in generations of reports
)

// ReportKinds are the bit filters of a generation of reports.
var ReportKinds = [...]FilterKind{SpamFilter, RevokedFilter, ClassFilter, SketchFilter}

func (k FilterKind) String() string {
	switch k {
	case SpamFilter:
		return "spam"
	case RevokedFilter:
		return "revoked"
	case CountFilter:
		return "counts"
	case ClassFilter:
		return "classes"
	case SketchFilter:
		return "sketches"
	case DomainFilter:
		return "domains"
	}
	return "unknown"
}

// BlockSize is the number of cells that are coded together.
func (k FilterKind) BlockSize() uint64 { return filter.BlockSize(k.Counts()) }

func (k FilterKind) Valid() bool { return k >= SpamFilter && k <= DomainFilter }

// Counts says that the filter has counts, not bits.
func (k FilterKind) Counts() bool { return k == CountFilter || k == DomainFilter }

// Unknown is the error for a kind that is not valid.
func (k FilterKind) Unknown() error {
	return fmt.Errorf("filter kind %d, which this program does not know: %w", uint8(k), ErrNewer)
}

// Target names one filter of one generation.
type Target struct {
	Kind FilterKind
	Gen  int64
}

// Before is the order of sections in a record: by kind, then by generation.
func (t Target) Before(u Target) bool {
	return t.Kind < u.Kind || t.Kind == u.Kind && t.Gen < u.Gen
}

// Origin is a site in one of its lives: a state folder made anew counts anew.
type Origin struct {
	Site  string
	Epoch uint64
}

// Urgent reports whether changes are published at once: all but counts.
func (k FilterKind) Urgent() bool { return k != CountFilter }

// Unit is what a filter is filled with.
func (k FilterKind) Unit() string {
	if k.Counts() {
		return "cells"
	}
	return "bits"
}
