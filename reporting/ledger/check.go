package ledger

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// maxFaults bounds the faults that Check names.
const maxFaults = 100

// Check reads the whole file: its pages, and every value in it, as they were at the
// begin. It names what is damaged, at most 100 of it, joined in one error. Reports go on
// beside it, in new pages of the file.
func (l *Ledger) Check() error { return l.file.check() }

// check is Ledger.Check.
func (s *store) check() error {
	var faults []error
	add := func(err error) bool {
		if err != nil && len(faults) < maxFaults {
			faults = append(faults, fmt.Errorf("ledger %s: %w", s.path, err))
		}
		return len(faults) < maxFaults
	}
	err := s.db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			add(err) // the channel is to be read to its end
		}
		reports := int64(0)
		for name, bucket := range map[string][]byte{
			"report": bucketReports, "tally": bucketTallies, "opinion": bucketOpinions, "reporter": bucketReporters, "decision": bucketDue, "share": bucketShares,
		} {
			c := tx.Bucket(bucket).Cursor()
			for key, data := c.First(); key != nil; key, data = c.Next() {
				if name == "report" {
					reports++
				}
				if err := checkValue(name, key, data); err != nil && !add(fmt.Errorf("%s %x: %w", name, key, err)) {
					return nil
				}
			}
		}
		if kept := countOf(tx.Bucket(bucketMeta), countReports); kept != reports {
			add(fmt.Errorf("%w: it says %d reports and has %d", ErrDamaged, kept, reports))
		}
		return nil
	})
	return errors.Join(errors.Join(faults...), err)
}

// checkValue decodes one value.
func checkValue(name string, key, data []byte) (err error) {
	switch name {
	case "report":
		_, err = decodeReport(data)
	case "tally":
		_, err = decodeTally(data)
	case "opinion":
		_, err = decodeOpinion(0, data)
	case "reporter":
		_, err = decodeRow(string(key), data)
	case "decision":
		_, err = decodeDue(data)
	case "share":
		_, err = decodeShare(data)
	}
	return err
}

// checkMeta checks a key and its value in the bucket meta.
func checkMeta(kv keyValue) error {
	switch string(kv.key) {
	case string(keyVersion), string(keySweep):
		return nil
	case string(countReports), string(countReporters):
		if len(kv.value) != 8 {
			return fmt.Errorf("%w: %d bytes", ErrDamaged, len(kv.value))
		}
		return nil
	}
	return fmt.Errorf("%w: unknown", ErrDamaged)
}
