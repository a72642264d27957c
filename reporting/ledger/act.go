package ledger

import "github.com/spambloom/spambloom/reporting/ledger/record"

// maxActs bounds the actions that are kept, the latest.
const maxActs = 10_000

// NotedAct is an action that is kept.
type NotedAct struct {
	ID uint64
	Act
}

// Note enters an action and returns its number. When the error is nil, it is on disk. An
// action is noted before it is carried out, so that none is missing here; Strike removes one
// that failed. After a crash between the two, one more is kept than was carried out.
func (l *Ledger) Note(a Act) (id uint64, err error) {
	if err := record.CheckName(a.By); err != nil {
		return 0, err
	}
	err = l.commit(func(t *txn) (refused, err error) {
		id, err = t.PutAct(a, maxActs)
		return nil, err
	})
	return id, err
}

// Strike removes an action that was not carried out.
func (l *Ledger) Strike(id uint64) error {
	return l.commit(func(t *txn) (refused, err error) { return nil, t.DeleteAct(id) })
}

// Acts returns at most limit actions with a number below before (0: all), the newest first.
// next is before for the next ones; 0: there are none.
func (l *Ledger) Acts(before uint64, limit int) (list []NotedAct, next uint64, err error) {
	err = l.view(func(t *txn) error {
		return t.EachAct(before, func(n uint64, a Act) bool {
			if len(list) == limit {
				next = list[limit-1].ID
				return false
			}
			list = append(list, NotedAct{n, a})
			return true
		})
	})
	return list, next, err
}
