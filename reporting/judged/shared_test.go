package judged

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// Reports can be crafted, so that a thousand of them have one hash in common: by digests that begin
// alike, or by fewer anchors than join two campaigns. A message with that hash is compared with a
// few of them.
func TestHashOfManyGroups(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	const many = 1000
	var bySignature, byAnchor []Group
	for i := range many {
		s := signature.Signature{Kind: signature.KindBody}
		binary.BigEndian.PutUint64(s.Digest[8:], uint64(i))
		bySignature = append(bySignature, Group{Signatures: []signature.Signature{s}})
		byAnchor = append(byAnchor, Group{Anchors: [][]uint64{{1 << 20, uint64(i) << 30}}, Need: []int{1}})
	}
	u := NewHashes(1 << 16)
	u.Add(Seen{At: now, Sender: 1, Copies: 1, Set: signature.Set{Signatures: bySignature[0].Signatures}, Anchors: [][]uint64{{1 << 20}}})
	for name, groups := range map[string][]Group{"signatures": bySignature, "anchors": byAnchor} {
		found := 0
		for _, c := range u.Courses(groups, []time.Time{now.Add(-time.Hour)}) {
			found += int(c.Mails[0])
		}
		if found != maxPlaces {
			t.Errorf("%s: one message is in the courses of %d groups, want %d", name, found, maxPlaces)
		}
	}
}

// Mail does not wait while a message is compared with reports: it is added meanwhile. The memory is
// full, so that the oldest mail is forgotten, and what is looked at was around its end.
func TestNobodyWaitsForALook(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	u := NewHashes(8 * 10 * (wordsBefore + 1))
	mail := func(sender uint64, digest byte) Seen {
		s := signature.Signature{Kind: signature.KindBody}
		s.Digest[0] = digest
		return Seen{At: now, Sender: sender, Copies: 1, Set: signature.Set{Signatures: []signature.Signature{s}}}
	}
	for n := range 15 {
		u.Add(mail(uint64(n), 1))
	}
	var senders []uint64
	u.look([]Group{{Signatures: mail(0, 1).Set.Signatures}}, now, func(_ int, r record) {
		senders = append(senders, r.sender)
		u.Add(mail(99, 2)) // would wait for ever, if a look held the lock
	})
	if len(senders) != 10 || senders[0] != 5 || senders[9] != 14 {
		t.Errorf("found mail of %d, want of 5 to 14", senders)
	}
}
