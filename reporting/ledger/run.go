package ledger

import (
	"encoding/binary"
	"slices"
)

// Reports are numbered in the order of their times, but for imports: each brings a run
// of older ones, in their order. keyRuns has the numbers at which runs begin, after the
// first one.
var keyRuns = []byte("runs")

const maxRuns = 64 // the oldest are forgotten first: their reports are expired later

func (t *txn) runs() (list []uint64) {
	for b := t.meta.Get(keyRuns); len(b) >= 8; b = b[8:] {
		list = append(list, binary.BigEndian.Uint64(b))
	}
	return list
}

// runOf is the number at which a report's run begins; 0: it is the first one.
func (t *txn) runOf(n uint64) uint64 {
	for _, run := range slices.Backward(t.runs()) {
		if run <= n {
			return run
		}
	}
	return 0
}

// beginRun says that the next report may be older than the last one.
func (l *Ledger) beginRun() error {
	return l.commit(func(t *txn, _ *job) error {
		next, runs := t.reports.Sequence()+1, t.runs()
		if t.count(countReports) == 0 || len(runs) > 0 && runs[len(runs)-1] == next {
			return nil
		}
		var b []byte
		for _, run := range append(runs[max(len(runs)-maxRuns+1, 0):], next) {
			b = binary.BigEndian.AppendUint64(b, run)
		}
		return t.meta.Put(keyRuns, b)
	})
}
