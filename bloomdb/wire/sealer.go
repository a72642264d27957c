package wire

import (
	"crypto/ed25519"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// Sealer encodes and verifies records under one federation key. It is safe for concurrent use.
type Sealer struct {
	Opt        *layout.Settings
	Ring       *keyring.Ring
	Members    Members
	SigningKey ed25519.PrivateKey // nil: records are not signed
	Witness    func(Head)         // called for every record whose time is checked
}

// Prove verifies that a member of the federation made the record in a file. Its error is a
// *DamageError, or wraps ErrNewer.
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
