package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/ledger/salvage"
	"github.com/spambloom/spambloom/reporting/ledger/store"
)

const damagedSuffix = ".damaged"

// Repair copies every sound record of a damaged file into a new one, recounts lost tallies, and
// keeps the damaged file as NAME.damaged. It looks in all pages for records that nothing leads
// to. A sound file is left alone, and so is one of a newer version, for which the error wraps
// ErrVersion. The ledger must not be open.
func Repair(o Options) (done Repaired, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	found, _, err := salvage.Inspect(o.Path)
	switch {
	case err != nil && !errors.Is(err, ErrDamaged):
		return done, fmt.Errorf("ledger %s: %w", o.Path, err)
	case err == nil && len(found.Faults) == 0:
		return Repaired{Reports: found.Counts["reports"], Reporter: found.Counts["reporters"]}, nil
	}
	fresh := o.Path + ".repaired"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return done, err
	}
	c, err := salvage.NewCopy(fresh)
	if err != nil {
		return done, fmt.Errorf("ledger %s: %w", fresh, err)
	}
	defer os.Remove(fresh)
	done, err = c.Run(o.Path)
	if err = errors.Join(err, c.Close()); err != nil {
		return done, fmt.Errorf("ledger %s: %w", o.Path, err)
	}
	if len(done.Faults) == 0 {
		done.Faults = found.Faults // the lenient reading accepted them
	}
	if done.Tallies, err = recount(o, fresh, done.Reports); err != nil {
		return done, err
	}
	done.Damaged = o.Path + damagedSuffix
	return done, errors.Join(store.ReplaceFile(o.Path, fresh, done.Damaged))
}

// recountBatch is the number of reports for each pass of a recount, which keeps their tallies in
// memory.
const recountBatch = 500_000

// recount opens the new file and recounts the lost tallies from the reports that count.
func recount(o Options, path string, reports int64) (n int, err error) {
	o.Path = path
	l, err := Open(o)
	if err != nil {
		return 0, err
	}
	passes := 1 + reports/recountBatch
	for pass := range passes {
		mine := func(k record.Key) bool { return int64(binary.BigEndian.Uint16(k[1:]))%passes == pass }
		if err == nil {
			err = l.commit(func(t *txn) (refused, err error) {
				lost, err := t.recountLost(mine)
				n += len(lost)
				return nil, err
			})
		}
	}
	return n, errors.Join(err, l.Close())
}

// recountLost recounts the tallies of one pass.
func (t *txn) recountLost(mine func(record.Key) bool) (map[record.Key]*record.Tally, error) {
	lost := map[record.Key]*record.Tally{}
	cursor := t.Reports.Cursor()
	for key, data := cursor.First(); key != nil; key, data = cursor.Next() {
		r, err := record.DecodeReport(data)
		if err != nil || r.State() != Counts {
			continue
		}
		t.recountReport(lost, mine, buckets.Number(key).Value(), r)
	}
	for k, y := range lost {
		y.Listed = y.Deciding(Spam) >= t.l.quorum
		if err := t.PutTally(k, y); err != nil {
			return nil, err
		}
	}
	return lost, nil
}

// recountReport adds a report to its lost tallies.
func (t *txn) recountReport(lost map[record.Key]*record.Tally, mine func(record.Key) bool, n uint64, r *record.Report) {
	for _, k := range record.KeysOf(r.Set, r.Anchors) {
		if !mine(k) {
			continue
		}
		if lost[k] == nil {
			if t.Tallies.Get(k[:]) != nil {
				continue
			}
			lost[k] = &record.Tally{}
		}
		if y := lost[k]; len(y.Inline) < record.MaxInline {
			o := record.Opinion{Reporter: r.Reporter, Report: n, At: r.At, Weight: r.Weight, Ham: r.Stance() == Ham, Idle: r.Flags&record.FlagIdle != 0}
			y.Held = y.Held || r.Held.Mails > 0 && y.Voices == 0
			y.Add(o)
			y.Inline = append(y.Inline, o)
		}
	}
}
