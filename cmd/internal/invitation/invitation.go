package invitation

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// Bounds of an invitation.
const (
	MaxPeers = 32
	MaxCA    = 4 << 10 // bytes
	maxURL   = 2 << 10 // bytes
)

// Peer is a site with its public key ("ed25519:..."). A member of a federation that names no
// peers has no key here.
type Peer struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

func (p Peer) check() error {
	if !layout.ValidSite(p.Name) {
		return fmt.Errorf("%w: %.80q is not a site name", ErrInvalid, p.Name)
	}
	if _, err := keyring.ParsePublicKey(p.Key); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, p.Name, err)
	}
	return nil
}

// Fingerprint identifies the site's key, for people who compare it.
func (p Peer) Fingerprint() string {
	public, err := keyring.ParsePublicKey(p.Key)
	if err != nil {
		return "-"
	}
	return keyring.Fingerprint(public)
}

// Request is made by a site that wants to join.
type Request struct {
	Peer        // the site itself
	Seal []byte `json:"seal"` // public key for keyring.Seal
}

// NewRequest returns the line of a request.
func NewRequest(site string, key ed25519.PrivateKey) (line string, err error) {
	seal, err := keyring.SealingKey(key)
	if err != nil {
		return "", err
	}
	r := Request{Peer{site, keyring.PublicKey(key)}, seal}
	if err := r.check(); err != nil {
		return "", err
	}
	return encode(requestPrefix, r, key)
}

// ParseRequest reads a line made by NewRequest.
func ParseRequest(line string) (r Request, err error) {
	if err := decode(requestPrefix, line, &r, func() string { return r.Key }); err != nil {
		return Request{}, fmt.Errorf("request: %w", err)
	}
	if err := r.check(); err != nil {
		return Request{}, fmt.Errorf("request: %w", err)
	}
	if len(r.Seal) != keyring.SealSize {
		return Request{}, fmt.Errorf("request: %w: sealing key of %d bytes", ErrInvalid, len(r.Seal))
	}
	return r, nil
}

// Parameters are the values that size the filters of reports. They are the same at all sites
// of a federation.
type Parameters struct {
	Period          string  `json:"period"` // a Go duration
	Keep            int64   `json:"keep"`
	Capacity        int64   `json:"capacity"`
	MaxErrorPerMail float64 `json:"max_error_per_mail"`
}

func (p Parameters) check() error {
	period, err := time.ParseDuration(p.Period)
	if err != nil || period <= 0 || p.Keep < 1 || p.Capacity < 1 || p.MaxErrorPerMail <= 0 || p.MaxErrorPerMail >= 1 {
		return fmt.Errorf("%w: parameters %+v", ErrInvalid, p)
	}
	return nil
}

// Invitation is made by a member.
type Invitation struct {
	Peer                  // the member itself
	Federation string     `json:"federation"` // id of the federation key
	Redis      string     `json:"redis"`      // URL, see Missing
	Missing    bool       `json:"missing,omitempty"`
	CA         string     `json:"ca,omitempty"` // PEM of the CA of Redis; "": a public one
	Parameters Parameters `json:"parameters"`

	// Peers are the other sites that the member names. IsOpen means that it names none, and
	// trusts every site with the federation key.
	Peers  []Peer   `json:"peers,omitempty"`
	Votes  []string `json:"votes,omitempty"` // names of those that the member trusts by vote only
	IsOpen bool     `json:"open,omitempty"`

	For    *Peer  `json:"for,omitempty"`    // the site that Sealed is for; nil: none
	Sealed []byte `json:"sealed,omitempty"` // see Secret
}

// Secret is the sealed part of an invitation.
type Secret struct {
	Key   [32]byte // the federation key
	Redis string   // URL with its password; "": that of the invitation
}

// secretText is Secret in JSON.
type secretText struct {
	Key   string `json:"key"` // 64 hex digits
	Redis string `json:"redis,omitempty"`
}

// Line returns the line of an invitation.
func (i *Invitation) Line(key ed25519.PrivateKey) (string, error) {
	if err := i.check(); err != nil {
		return "", err
	}
	return encode(invitationPrefix, i, key)
}

// Seal adds the secret, readable only for the site that made the request. Everything else in
// the invitation is set before.
func (i *Invitation) Seal(r Request, secret Secret) error {
	text, err := json.Marshal(secretText{hex.EncodeToString(secret.Key[:]), secret.Redis})
	if err != nil {
		return err
	}
	i.For, i.Sealed = &r.Peer, nil
	context, err := json.Marshal(i)
	if err != nil {
		return err
	}
	i.Sealed, err = keyring.Seal(r.Seal, context, text)
	return err
}

// ErrForOther is the error of an invitation that is sealed for another site.
var ErrForOther = errors.New("invitation is for another site")

// Unseal returns the secret of a sealed invitation, with the key of the site it was made for.
func (i *Invitation) Unseal(key ed25519.PrivateKey) (s Secret, err error) {
	if i.For == nil || i.For.Key != keyring.PublicKey(key) {
		return s, ErrForOther
	}
	clear := *i
	clear.Sealed = nil
	context, err := json.Marshal(&clear)
	if err != nil {
		return s, err
	}
	text, err := keyring.Unseal(key, context, i.Sealed)
	if err != nil {
		return s, fmt.Errorf("invitation: %w", err)
	}
	var t secretText
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return s, fmt.Errorf("invitation: %w: sealed part", ErrInvalid) // no error quotes it
	}
	raw, err := hex.DecodeString(t.Key)
	if err != nil || len(raw) != len(s.Key) || len(t.Redis) > maxURL {
		return s, fmt.Errorf("invitation: %w: sealed part", ErrInvalid)
	}
	s = Secret{[32]byte(raw), t.Redis}
	if keyring.ID(s.Key) != i.Federation {
		return Secret{}, fmt.Errorf("invitation: %w: the key is not that of federation %s", ErrInvalid, i.Federation)
	}
	return s, nil
}

// ParseInvitation reads a line made by Invitation.Line.
func ParseInvitation(line string) (*Invitation, error) {
	i := new(Invitation)
	if err := decode(invitationPrefix, line, i, func() string { return i.Key }); err != nil {
		return nil, fmt.Errorf("invitation: %w", err)
	}
	if err := i.check(); err != nil {
		return nil, fmt.Errorf("invitation: %w", err)
	}
	return i, nil
}

func (i *Invitation) check() error {
	if id, err := hex.DecodeString(i.Federation); err != nil || len(id) != 8 {
		return fmt.Errorf("%w: key id %.32q", ErrInvalid, i.Federation)
	}
	switch {
	case len(i.Redis) > maxURL || i.Redis == "":
		return fmt.Errorf("%w: URL of %d bytes, limit %d", ErrInvalid, len(i.Redis), maxURL)
	case len(i.CA) > MaxCA:
		return fmt.Errorf("%w: CA file of %d bytes, limit %d", ErrInvalid, len(i.CA), MaxCA)
	case len(i.Peers) > MaxPeers:
		return fmt.Errorf("%w: %d peers, limit %d", ErrInvalid, len(i.Peers), MaxPeers)
	case (i.For == nil) != (len(i.Sealed) == 0):
		return fmt.Errorf("%w: sealed part without its site", ErrInvalid)
	}
	sites := append([]Peer{i.Peer}, i.Peers...)
	if i.For != nil {
		sites = append(sites, *i.For)
	}
	names := make(map[string]bool)
	for _, p := range sites {
		if err := p.check(); err != nil {
			return err
		}
		if names[p.Name] {
			return fmt.Errorf("%w: two sites named %s", ErrInvalid, p.Name)
		}
		names[p.Name] = true
	}
	for _, name := range i.Votes {
		if !slices.ContainsFunc(i.Peers, func(p Peer) bool { return p.Name == name }) {
			return fmt.Errorf("%w: votes of %.80q, which is no peer", ErrInvalid, name)
		}
	}
	return i.Parameters.check()
}
