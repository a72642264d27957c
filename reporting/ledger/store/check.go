package store

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/ledger/salvage"
)

// Check reads the whole file as of its begin: the pages, and every value. The error joins
// what is damaged, at most 100 faults. Writing goes on in new pages of the file.
func (s *File) Check() error {
	var faults []error
	add := func(err error) bool {
		if err != nil && len(faults) < salvage.MaxFaults {
			faults = append(faults, fmt.Errorf("ledger %s: %w", s.path, err))
		}
		return len(faults) < salvage.MaxFaults
	}
	err := s.view(func(tx *bolt.Tx) error {
		if err := s.checkReadable(tx.Size()); err != nil {
			add(err)
			return nil
		}
		for err := range tx.Check() {
			add(err) // the channel has to be read to its end
		}
		reports := int64(0)
		for name, bucket := range map[string][]byte{
			"report": buckets.Reports, "tally": buckets.Tallies, "opinion": buckets.Opinions, "reporter": buckets.Reporters, "decision": buckets.Due, "share": buckets.Shares, "action": buckets.Acts,
		} {
			c := tx.Bucket(bucket).Cursor()
			for key, data := c.First(); key != nil; key, data = c.Next() {
				if name == "report" {
					reports++
				}
				if err := buckets.CheckValue(name, key, data); err != nil && !add(fmt.Errorf("%s %x: %w", name, key, err)) {
					return nil
				}
			}
		}
		if kept := buckets.Count(tx.Bucket(buckets.Meta), buckets.CountReports); kept != reports {
			add(fmt.Errorf("%w: it records %d reports and has %d", record.ErrDamaged, kept, reports))
		}
		return nil
	})
	return errors.Join(errors.Join(faults...), err)
}
