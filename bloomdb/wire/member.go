package wire

import (
	"crypto/ed25519"
	"fmt"
	"slices"
)

// Trust is how much the reports of another site count.
type Trust int

// The zero value is TrustFull.
const (
	TrustFull Trust = iota // its reports count like those of our own users
	TrustVote              // it has one vote among several: see Votes
	TrustNone              // its records are rejected
)

var trustNames = [...]string{"full", "vote", "none"}

func (t Trust) String() string {
	if t < 0 || int(t) >= len(trustNames) {
		return fmt.Sprintf("trust %d", int(t))
	}
	return trustNames[t]
}

// ParseTrust is the inverse of String.
func ParseTrust(name string) (Trust, error) {
	if i := slices.Index(trustNames[:], name); i >= 0 {
		return Trust(i), nil
	}
	return TrustNone, fmt.Errorf("unknown trust %.60q; want one of %v", name, trustNames)
}

// MarshalText returns the trust's name.
func (t Trust) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Member is the agreement with another site.
type Member struct {
	// Keys are the site's public keys: two during a key change. One of them must have signed
	// each record. If there are none, the federation key is sufficient proof.
	Keys  []ed25519.PublicKey
	Trust Trust

	// Caps on the reports and counts that are accepted from the site; 0: the default.
	MaxReports int64 // reported messages in one report period
	MaxCounts  int64 // counted messages in one count period
}

// Members are the trusted sites, by name. Nil: every site that has the federation key is fully
// trusted.
type Members map[string]Member

// Of returns the agreement with a site, and reports whether there is one.
func (m Members) Of(site string) (Member, bool) {
	if m == nil {
		return Member{}, true
	}
	member, ok := m[site]
	return member, ok
}

// verify returns the reason why a record with a valid HMAC was not made by the site.
func (m Members) verify(site string, signed, signature []byte) error {
	member, ok := m.Of(site)
	switch {
	case !ok:
		return fmt.Errorf("%w: no [[peer]] has that name", ErrStranger)
	case len(member.Keys) == 0:
		return nil
	case len(signature) == 0:
		return fmt.Errorf("%w: signature is missing", ErrUnsigned)
	}
	for _, key := range member.Keys {
		if ed25519.Verify(key, signed, signature) {
			return nil
		}
	}
	return fmt.Errorf("%w: signed with a key that its [[peer]] does not list", ErrUnsigned)
}

// TrustOf returns how much a site is trusted.
func (s *Sealer) TrustOf(site string) Trust {
	if m, ok := s.Members.Of(site); ok {
		return m.Trust
	}
	return TrustNone
}

// RequireFullTrust returns ErrTrust for a site that is not fully trusted. This site's own records
// pass: they are read, but never applied.
func (s *Sealer) RequireFullTrust(site string) error {
	if t := s.TrustOf(site); t != TrustFull && site != s.Opt.Site {
		return fmt.Errorf("%w: its trust is %s", ErrTrust, t)
	}
	return nil
}
