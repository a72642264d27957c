package layout

import (
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// Kind is the kind of a filter. A generation has at most one filter of each kind.
type Kind uint8

// The numbers are stored in snapshots and deltas.
const (
	SpamFilter    Kind = 1
	RevokedFilter Kind = 2
	CountFilter   Kind = 3
	ClassFilter   Kind = 4
	SketchFilter  Kind = 5
	DomainFilter  Kind = 6 // counters of this site, never published; in generations of reports
	LadderFilter  Kind = 7 // rungs of contested signatures, see Rungs
)

// ReportKinds are the bit filters of a generation of reports.
var ReportKinds = [...]Kind{SpamFilter, RevokedFilter, ClassFilter, SketchFilter, LadderFilter}

// PublishOrder is the order in which a site publishes its filters. Revocations go first: a
// reader that has only a part of them, for example because the connection to Redis broke, lists no
// message that the site has revoked. The class of a listing goes before it.
var PublishOrder = [...]Kind{RevokedFilter, LadderFilter, ClassFilter, SpamFilter, SketchFilter, CountFilter}

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
	case LadderFilter:
		return "ladder"
	}
	return "unknown"
}

// BlockSize returns the number of cells that are encoded together.
func (k Kind) BlockSize() uint64 { return filter.BlockSize(k.Counts()) }

func (k Kind) Valid() bool { return k >= SpamFilter && k <= LadderFilter }

// Counts reports whether cells of the filter are counters and not bits.
func (k Kind) Counts() bool { return k == CountFilter || k == DomainFilter }

// Unknown returns the error for a kind that is not valid.
func (k Kind) Unknown() error {
	return fmt.Errorf("filter kind %d is unknown to this program: %w", uint8(k), ErrNewer)
}

// Target names one filter of one generation.
type Target struct {
	Kind Kind
	Gen  int64
}

// Before reports whether t precedes u in a record: by kind, then by generation.
func (t Target) Before(u Target) bool {
	return t.Kind < u.Kind || t.Kind == u.Kind && t.Gen < u.Gen
}

// Origin is one epoch of a site. A state folder that is made anew begins a new epoch and
// counts from zero.
type Origin struct {
	Site  string
	Epoch uint64
}

// Urgent reports whether changes are published at once. Only counts wait.
func (k Kind) Urgent() bool { return k != CountFilter }

// Unit returns the name of the filter's cells, for errors.
func (k Kind) Unit() string {
	if k.Counts() {
		return "cells"
	}
	return "bits"
}
