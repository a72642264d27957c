package desk

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// Tests call these in place of Run.

func (d *Desk) CarryOutAll() error { return d.carryOutAll() }
func (d *Desk) CarryOutDue() error { return d.carryOutDue() }

// ExpireLooks is the number of calls of Expire after which something is forgotten.
const ExpireLooks = expireLooks

// Expire does what Run does at some times of its ticker.
func (d *Desk) Expire(ctx context.Context, times int) (err error) {
	for range times {
		err = errors.Join(err, d.expire(ctx))
	}
	return err
}

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
		d.waiting.Reserve(strconv.Itoa(i), origin)
	}
}
