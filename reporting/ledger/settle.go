package ledger

// settledWeight is the weight of Settler.
const settledWeight Weight = 1_000_000

// lookSettled finds the keys that an administrator has settled, unless the entry does it now.
func (w *entering) lookSettled() error {
	row, err := w.Reporter(Settler)
	if err != nil || row == nil || w.e.Reporter == Settler {
		return err
	}
	for _, k := range w.keys {
		o, ok, err := w.OpinionOf(k, w.tallies[k], row.ID)
		if err != nil {
			return err
		}
		if ok {
			w.settled[k] = o.Stance()
		}
	}
	return nil
}
