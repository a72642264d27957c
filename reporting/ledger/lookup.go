package ledger

import (
	"bytes"
	"maps"
	"slices"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/signature"
)

// Lookup returns the reports of messages with a signature of this kind whose digest begins
// with these bytes, the latest first, at most limit. Like Reports, it reads at most 10,000
// reports of one message. Sketches have no such signatures.
func (l *Ledger) Lookup(kind signature.Kind, digest [8]byte, limit int) (list []Report, err error) {
	err = l.view(func(t *txn) error {
		numbers, err := t.reportsWith(append([]byte{byte(kind)}, digest[:]...))
		if err != nil {
			return err
		}
		for _, n := range slices.Backward(numbers) {
			r, err := t.report(n)
			if err != nil {
				return err
			}
			if len(list) == limit {
				break
			}
			if r == nil { // expired
				continue
			}
			row, err := t.reporterByID(r.Reporter)
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

// reportsWith returns the numbers of the reports in all tallies whose keys begin with
// prefix, in order.
func (t *txn) reportsWith(prefix []byte) ([]uint64, error) {
	found := map[uint64]bool{}
	c := t.tallies.Cursor()
	for key, data := c.Seek(prefix); bytes.HasPrefix(key, prefix) && len(found) < maxOfMessage; key, data = c.Next() {
		y, err := record.DecodeTally(data)
		if err != nil {
			return nil, err
		}
		for _, n := range y.Past {
			found[n] = true
		}
		err = t.eachOpinion(record.Key(key), y, func(o record.Opinion) bool {
			found[o.Report] = true
			return len(found) < maxOfMessage
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}
