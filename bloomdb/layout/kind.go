package layout

import (
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// Kind is one of the filters of a generation.
type Kind uint8

// The numbers stand in snapshots and deltas.
const (
	SpamFilter    Kind = 1
	RevokedFilter Kind = 2
	CountFilter   Kind = 3
	ClassFilter   Kind = 4
	SketchFilter  Kind = 5
	DomainFilter  Kind = 6 // counts; of this site only, in generations of reports
)

// ReportKinds are the bit filters of a generation of reports.
var ReportKinds = [...]Kind{SpamFilter, RevokedFilter, ClassFilter, SketchFilter}

func (k Kind) String() string {
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
func (k Kind) BlockSize() uint64 { return filter.BlockSize(k.Counts()) }

func (k Kind) Valid() bool { return k >= SpamFilter && k <= DomainFilter }

// Counts reports whether the filter has counts, not bits.
func (k Kind) Counts() bool { return k == CountFilter || k == DomainFilter }

// Unknown is the error for a kind that is not valid.
func (k Kind) Unknown() error {
	return fmt.Errorf("filter kind %d, which this program does not know: %w", uint8(k), ErrNewer)
}

// Target names one filter of one generation.
type Target struct {
	Kind Kind
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
func (k Kind) Urgent() bool { return k != CountFilter }

// Unit is what a filter is filled with.
func (k Kind) Unit() string {
	if k.Counts() {
		return "cells"
	}
	return "bits"
}
