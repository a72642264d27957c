package desk

import (
	"context"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// What tests do in the place of Run.

func (d *Desk) CarryOutAll() error               { return d.carryOutAll() }
func (d *Desk) CarryOutDue() error               { return d.carryOutDue() }
func (d *Desk) Expire(ctx context.Context) error { return d.expire(ctx) }

// Entry is what Report and Revoke enter into the ledger.
func (d *Desk) Entry(stance ledger.Stance, r Report, set signature.Set, now time.Time) ledger.Entry {
	return d.entry(stance, r, set, now)
}

func (d *Desk) Anchors(sketches []signature.Sketch) []ledger.Anchors { return d.anchors(sketches) }

func (d *Desk) ActOnWaiting() error { return d.actOnWaiting() }
func (d *Desk) LoadWaiting() error  { return d.loadWaiting() }
