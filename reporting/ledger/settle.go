package ledger

// settledWeight is the weight of Settler.
const settledWeight Weight = 1_000_000

// lookSettled finds the keys that an administrator has settled, unless the entry does it now.
func (w *entering) lookSettled() error {
	row, err := w.Reporter(Settler)
	if err != nil || w.e.Reporter == Settler {
		return err
	}
	opinions, err := w.OpinionsOf(row, w.tallies)
	for k, o := range opinions {
		w.settled[k] = o.Stance()
	}
	return err
}
