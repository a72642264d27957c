package keyring

import (
	"encoding/hex"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// Labels are a signature's positions under each named class, indexed by Class.
type Labels [layout.NamedClasses + 1]filter.Hash

// Labels derives the labels from the signature's positions in the spam filter, since the
// journal records nothing else. Digests dominate the cost of judging, so one keyed digest
// serves all classes, one lane each.
func (r *Ring) Labels(h filter.Hash) (l Labels) {
	lanes := h.Bytes()
	digest := filter.HashBytes(r.Keyed.Sum(purposeClass, lanes[:]))
	for c := layout.ClassMalware; c.Named(); c++ {
		l[c] = Stretch(digest[c-1])
	}
	return l
}

// Ring hashes under one federation key. It is safe for concurrent use.
type Ring struct {
	Keyed *signature.Keyed
	KeyID [8]byte
}

func NewRing(key [32]byte) *Ring {
	r := &Ring{Keyed: signature.NewKeyed(key[:])}
	id, _ := hex.DecodeString(ID(key))
	r.KeyID = [8]byte(id)
	return r
}

// DomainKeys are the positions of a domain's two counters.
type DomainKeys struct{ Campaigns, Sightings filter.Hash }

// DomainKeys derives both from one keyed digest, two lanes each.
func (r *Ring) DomainKeys(domain string) DomainKeys {
	h := filter.HashBytes(r.Keyed.Sum(purposeDomain, []byte(domain)))
	return DomainKeys{filter.Hash{h[0], h[1]}, filter.Hash{h[2], h[3]}}
}

// ReportHash returns a signature's positions in filters of reports. They cannot be computed
// without the federation key.
func (r *Ring) ReportHash(s signature.Signature) filter.Hash {
	return filter.HashBytes(r.Keyed.Sum(purposeReport, s.Digest[:]))
}

// CountHash returns a signature's positions in counting filters.
func (r *Ring) CountHash(s signature.Signature) filter.Hash {
	return filter.HashBytes(r.Keyed.Sum(purposeCount, s.Digest[:]))
}

// StretchAll derives positions from seeds.
func StretchAll(seeds []uint64) []filter.Hash {
	hashes := make([]filter.Hash, len(seeds))
	for i, s := range seeds {
		hashes[i] = Stretch(s)
	}
	return hashes
}

// Stretch derives four lanes from a seed: the first outputs of SplitMix64 (Steele, Lea,
// Flood 2014).
func Stretch(state uint64) (h filter.Hash) {
	for i := range h {
		state += 0x9e3779b97f4a7c15
		h[i] = filter.Mix(state)
	}
	return h
}

// rungs separates the seeds of rungs from other seeds. It is otherwise arbitrary.
const rungs = 0x8f1bbcdc5a827999

// RungSeed returns the seed of a signature's rung in the ladder filter. Stretch derives the
// positions. The signature's positions in reports are keyed, and so is the seed.
func RungSeed(h filter.Hash, rung int) uint64 { return filter.Mix(h[0]^rungs) + uint64(rung) }

// VotesKey returns the key for positions in a site's filter of votes.
func (r *Ring) VotesKey(site string) Sip {
	return NewSip(r.Keyed.Sum(purposeVotes, []byte(site)))
}
