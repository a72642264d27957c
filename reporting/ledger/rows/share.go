package rows

import (
	"bytes"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// Room returns how many reports may be kept, of most, when an entry is made. Reporters who use up their shares
// together must not keep others from revoking, nor an administrator from anything: reports leave the last
// eighth, and revocations half of it.
func Room(most int64, isAdministrators, isRevocation bool) int64 {
	switch {
	case isAdministrators:
		return most
	case isRevocation:
		return most - most/16
	}
	return most - most/8
}

// Share reads the share of a party; an empty one if there is none.
func (t *Txn) Share(p record.Party) (*record.Share, error) {
	data := t.Shares.Get(p.Key())
	if data == nil {
		return &record.Share{}, nil
	}
	return record.DecodeShare(data)
}

// PutShare writes a share, or removes an empty one.
func (t *Txn) PutShare(p record.Party, s *record.Share) error {
	if s.Kept <= 0 && s.Names <= 0 && s.Via == "" && s.Used == [2]int64{} {
		return t.Shares.Delete(p.Key())
	}
	return t.Shares.Put(p.Key(), s.Encode())
}

// DropWays removes the shares of a reporter by each way.
func (t *Txn) DropWays(reporter string) error {
	prefix := record.Party{Kind: record.PartyWay, Name: reporter}.Key()
	for c := t.Shares.Cursor(); ; {
		key, _ := c.Seek(prefix)
		if !bytes.HasPrefix(key, prefix) {
			return nil
		}
		if err := c.Delete(); err != nil {
			return err
		}
	}
}

// PutDue writes a decision that is due until it is settled.
func (t *Txn) PutDue(d record.Due) (uint64, error) {
	n, err := t.Due.NextSequence()
	if err != nil {
		return 0, err
	}
	key := buckets.NewNumber(n)
	return n, t.Due.Put(key[:], d.Encode())
}
