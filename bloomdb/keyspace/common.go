package keyspace

import (
	"encoding/binary"

	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/signature"
)

// Learn records what a message that nobody reported has in common with others. Features and Message
// of m are filled in. It reports whether the message was learned.
func (ks *Keyspace) Learn(set signature.Set, m commonness.Mail) bool {
	if !ks.Common.Learns(m.Sender) { // most mail: its features, hundreds of hashes, are not made
		return false
	}
	m.Features = ks.Sketches.Features(set)
	return ks.LearnSender(set, m)
}

// LearnSender records the sender of a message only.
func (ks *Keyspace) LearnSender(set signature.Set, m commonness.Mail) bool {
	m.Message = messageOf(set)
	return ks.Common.Learn(m)
}

// NoteSender records which proven domain sent a message that a report lists.
func (ks *Keyspace) NoteSender(set signature.Set, from string) { ks.Common.Note(messageOf(set), from) }

// TakeBack takes back what was learned of a message that is reported.
func (ks *Keyspace) TakeBack(set signature.Set) {
	ks.Common.Reported(ks.Sketches.Features(set), messageOf(set))
}

// messageOf returns a hash of the text or body of a message; 0 if it has neither.
func messageOf(set signature.Set) uint64 {
	keys := vote.Keys(set.Signatures)
	if len(keys) == 0 {
		return 0
	}
	d := set.Signatures[keys[0]].Digest
	return binary.BigEndian.Uint64(d[:])
}
