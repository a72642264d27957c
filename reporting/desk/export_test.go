package desk

import (
	"context"
	"strconv"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// Tests call these in place of Run.

func (d *Desk) CarryOutAll() error               { return d.carryOutAll() }
func (d *Desk) CarryOutDue() error               { return d.carryOutDue() }
func (d *Desk) Expire(ctx context.Context) error { return d.expire(ctx) }

// Entry returns the entry that Report and Revoke write to the ledger.
func (d *Desk) Entry(stance ledger.Stance, r Report, set signature.Set, now time.Time) ledger.Entry {
	return d.entry(stance, r, set, now)
}

func (d *Desk) Anchors(sketches []signature.Sketch) []ledger.Anchors { return d.anchors(sketches) }

func (d *Desk) ActOnWaiting() error { return d.actOnWaiting() }
func (d *Desk) LoadWaiting() error  { return d.loadWaiting() }

// FillWaiting lets n revocations of one origin wait, each under a name of its own.
func (d *Desk) FillWaiting(origin string, n int) {
	for i := range n {
		d.waiting.list = append(d.waiting.list, waitingWord{reporter: strconv.Itoa(i), origin: origin})
	}
}
