package ledger

import (
	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/reporting/ledger/rows"
)

// txn is a transaction of a ledger.
type txn struct {
	*rows.Txn
	l *Ledger
}

func newTxn(tx *bolt.Tx, l *Ledger) *txn { return &txn{Txn: rows.New(tx), l: l} }
