package search

import (
	"slices"

	"github.com/spambloom/spambloom/signature"
)

// Lookup returns the reports of messages with a signature of this kind whose digest begins
// with these bytes, the latest first, at most limit. Like Reports, it reads at most 10,000
// reports of one message. Sketches have no such signatures.
func (l *Search) Lookup(kind signature.Kind, digest [8]byte, limit int) (list []Report, err error) {
	err = l.view(func(t *txn) error {
		numbers, err := t.WithPrefix(append([]byte{byte(kind)}, digest[:]...))
		if err != nil {
			return err
		}
		for _, n := range slices.Backward(numbers) {
			r, err := t.Report(n)
			if err != nil {
				return err
			}
			if len(list) == limit {
				break
			}
			if r == nil { // expired
				continue
			}
			row, err := t.ReporterByID(r.Reporter)
			if err != nil {
				return err
			}
			p, err := t.public(n, r, row)
			if err != nil {
				return err
			}
			list = append(list, p)
		}
		return nil
	})
	return list, err
}
