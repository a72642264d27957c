package search

import (
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/signature"
)

// Backing is the weight of the reporters behind a message: that of the signature or anchor for
// which it is largest.
type Backing struct {
	Sums   [2]record.Weight // by Stance
	Voices uint64           // reporters with a weight whose latest statement is spam
	Need   record.Weight    // of reports that lists the message
	Quorum record.Weight    // of revocations that revokes it
}

// Backing returns the weight behind a message. Period is the begin of the current one.
func (l *Search) Backing(set signature.Set, anchors []record.Anchors, period time.Time) (b Backing, err error) {
	b.Need, b.Quorum = l.quorum, l.quorum
	err = l.view(func(t *txn) error {
		for _, k := range record.KeysOf(set, anchors) {
			y, err := t.Tally(k)
			if err != nil {
				return err
			}
			if y.Sums[record.Spam] > b.Sums[record.Spam] {
				b.Sums[record.Spam], b.Voices = y.Sums[record.Spam], y.Voices
			}
			b.Sums[record.Ham] = max(b.Sums[record.Ham], y.Sums[record.Ham])
			b.Need = max(b.Need, y.Need(l.quorum, period))
		}
		return nil
	})
	return b, err
}
