package wire

import (
	"crypto/ed25519"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// Sealer makes and opens the records of one federation key. It is safe for concurrent use.
type Sealer struct {
	Opt        *layout.Settings
	Ring       *keyring.Ring
	Members    Members
	SigningKey ed25519.PrivateKey // nil: records are not signed
	Witness    func(Head)         // is called for every record whose time is looked at
}

// Prove returns an error unless a file's record is as a member of the federation made it:
// a *DamageError, or one that wraps ErrNewer.
func (s *Sealer) Prove(path string, data []byte) error {
	if !s.isAuthentic(data) {
		return folder.Damaged(path, 0, errNotAuthentic)
	}
	r := &RecordReader{B: data}
	_, _, err := decodeHead(r)
	if err == nil {
		_, _, err = s.openTail(data, len(data)-len(r.B))
	}
	if err != nil {
		return folder.Damaged(path, 0, err)
	}
	return nil
}
