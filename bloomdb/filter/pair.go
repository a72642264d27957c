package filter

import "fmt"

// Pair is Yan & Cho's pair of filters for a Razor server (section III, "signature
// revocation"): the Spam Bloom filter, of all signatures that were reported, and
// the Revocation Bloom filter, of those that were revoked, since a Bloom filter
// cannot delete. The two may differ in m, k and hash functions.
//
//	report -> Spam.Set; revoke -> Revoked.Set; message -> Listed
//
// Two rules that the paper leaves out follow from it. A revoked signature can
// never be listed again, unless the revocations are built anew; the program has
// generations for that, and the newest wins. And whoever may join a filter of
// revocations can join one of all ones, and nothing is spam any more: it takes
// more trust than reports do.
//
// Reads may run at the same time as each other, but not as a write.
type Pair struct {
	Spam    *Classic
	Revoked *Classic
}

// Listed is the paper's verdict on a message, from its positions in each of the
// two filters: reported, and not revoked.
func (p Pair) Listed(spam, revoked []uint64) bool {
	return p.Spam.Has(spam) && !p.Revoked.Has(revoked)
}

// FalsePositives is the chance that a message that was never reported nor
// revoked is listed: f_S (1 - f_R), from the bits as they stand.
func (p Pair) FalsePositives() float64 { return p.Spam.Error() * (1 - p.Revoked.Error()) }

// FalseNegatives is the chance that a reported message that was never revoked is
// not listed: f_R, from the bits as they stand.
func (p Pair) FalseNegatives() float64 { return p.Revoked.Error() }

// Or joins other's filters, both or, on an error, none.
func (p Pair) Or(other Pair) error {
	if p.Revoked.m != other.Revoked.m || p.Revoked.k != other.Revoked.k {
		return fmt.Errorf("revocations: bloom filter of m=%d k=%d cannot take one of m=%d k=%d",
			p.Revoked.m, p.Revoked.k, other.Revoked.m, other.Revoked.k)
	}
	if err := p.Spam.Or(other.Spam); err != nil {
		return fmt.Errorf("spam: %w", err)
	}
	return p.Revoked.Or(other.Revoked)
}
