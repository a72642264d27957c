package wire

import (
	"crypto/ed25519"
	"fmt"
	"slices"
)

// Trust is how much another site's word counts.
type Trust int

// The zero value is TrustFull.
const (
	TrustFull Trust = iota // its reports count as our users'
	TrustVote              // it is one voice of several: see Votes
	TrustNone              // it is not heard
)

var trustNames = [...]string{"full", "vote", "none"}

func (t Trust) String() string {
	if t < 0 || int(t) >= len(trustNames) {
		return fmt.Sprintf("trust %d", int(t))
	}
	return trustNames[t]
}

// ParseTrust reads what String gives.
func ParseTrust(name string) (Trust, error) {
	if i := slices.Index(trustNames[:], name); i >= 0 {
		return Trust(i), nil
	}
	return TrustNone, fmt.Errorf("unknown trust %.60q; want one of %v", name, trustNames)
}

// MarshalText is String.
func (t Trust) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Member is what was agreed with another site.
type Member struct {
	// Keys are those of which one must have signed its records: two while the site
	// changes its key. None: that it has the federation key is proof enough.
	Keys  []ed25519.PublicKey
	Trust Trust

	// Caps on what it may make us hold; 0: the default.
	MaxReports int64 // reported messages in one period of reports
	MaxCounts  int64 // messages counted in one period of counts
}

// Members are the sites that are heard, by name. Nil: every site that proves the
// federation key is, in full.
type Members map[string]Member

// Of returns what was agreed with a site; not ok for a stranger.
func (m Members) Of(site string) (Member, bool) {
	if m == nil {
		return Member{}, true
	}
	member, ok := m[site]
	return member, ok
}

// verify says why a record with a good HMAC is not the site's.
func (m Members) verify(site string, signed, signature []byte) error {
	member, ok := m.Of(site)
	switch {
	case !ok:
		return fmt.Errorf("%w: there is no [[peer]] of that name", ErrStranger)
	case len(member.Keys) == 0:
		return nil
	case len(signature) == 0:
		return fmt.Errorf("%w: it is not signed", ErrUnsigned)
	}
	for _, key := range member.Keys {
		if ed25519.Verify(key, signed, signature) {
			return nil
		}
	}
	return fmt.Errorf("%w: signed with another key than its [[peer]] has", ErrUnsigned)
}

// TrustOf is how much a site's word counts here.
func (s *Sealer) TrustOf(site string) Trust {
	if m, ok := s.Members.Of(site); ok {
		return m.Trust
	}
	return TrustNone
}

// HeardInFull refuses the filters of a site that is not. Own records are only read,
// never applied.
func (s *Sealer) HeardInFull(site string) error {
	if t := s.TrustOf(site); t != TrustFull && site != s.Opt.Site {
		return fmt.Errorf("%w: its trust is %s", ErrTrust, t)
	}
	return nil
}
