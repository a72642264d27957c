package api

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/signature"
)

// Bounds of a request.
const (
	MaxBody = 2 << 20 // bytes

	maxSignatures = 2 + 2*signature.MaxAttachments + signature.MaxPhrases
	maxCounting   = 2 // as in signature.Set
)

// Request contains one message's signatures and sketches. For a report or a revocation it
// also names the reporter and the class of spam.
type Request struct {
	Signatures []Signature   `json:"signatures"`
	Sketches   []Sketch      `json:"sketches,omitempty"`
	Domains    []string      `json:"domains,omitempty"`   // of the message's links, as in signature.Set
	Carried    int           `json:"carried,omitempty"`   // the last Carried entries of Domains are never listed by a report
	NoHeader   bool          `json:"no_header,omitempty"` // the message has no header of a message; reports of it are refused
	Reporter   string        `json:"reporter,omitempty"`
	Class      bloomdb.Class `json:"class,omitzero"` // by name; absent: bloomdb.ClassOther
}

// Signature is the wire form of signature.Signature.
type Signature struct {
	Kind     string `json:"kind"`
	Digest   string `json:"digest"`             // 64 hex digits
	Counting bool   `json:"counting,omitempty"` // the message is counted under this signature
}

// NewRequest returns a request that contains a message's signatures.
func NewRequest(set signature.Set) Request {
	r := Request{Signatures: make([]Signature, len(set.Signatures)), Sketches: newSketches(set.Sketches), Domains: set.Domains, Carried: set.Carried, NoHeader: set.NoHeader}
	for i, s := range set.Signatures {
		r.Signatures[i] = Signature{s.Kind.String(), hex.EncodeToString(s.Digest[:]), slices.Contains(set.Counting, s)}
	}
	return r
}

// Read checks every member of the request and returns the message's signatures. The error
// names the first member that is wrong.
func (r Request) Read() (set signature.Set, err error) {
	if set, err = readSignatures(r.Signatures); err != nil {
		return set, err
	}
	if set.Sketches, err = readSketches(r.Sketches); err != nil {
		return set, err
	}
	if err := checkDomains(r.Domains); err != nil {
		return set, err
	}
	if r.Carried < 0 || r.Carried > len(r.Domains) {
		return set, fmt.Errorf("carried %d of %d domains", r.Carried, len(r.Domains))
	}
	if len(r.Domains) > 0 { // an empty list means the same as none
		set.Domains = r.Domains
	}
	set.Carried, set.NoHeader = r.Carried, r.NoHeader
	return set, CheckReporter(r.Reporter)
}

func readSignatures(signatures []Signature) (set signature.Set, err error) {
	if err := checkLength(len(signatures), "signatures", maxSignatures); err != nil {
		return set, err
	}
	var count [256]int // by kind
	for i, wire := range signatures {
		s, err := wire.read()
		if err != nil {
			return set, fmt.Errorf("signature %d: %w", i+1, err)
		}
		if slices.Contains(set.Signatures, s) {
			return set, fmt.Errorf("signature %d stands there twice", i+1)
		}
		if count[s.Kind]++; count[s.Kind] > 1 && !isOfPart(s.Kind) && s.Kind != signature.KindPhrase {
			return set, fmt.Errorf("signature %d: a second one of kind %q; a message has one", i+1, wire.Kind)
		}
		if s.Kind == signature.KindPhrase && count[s.Kind] > signature.MaxPhrases {
			return set, fmt.Errorf("signature %d: more than %d of kind %q", i+1, signature.MaxPhrases, wire.Kind)
		}
		if count[s.Kind] > signature.MaxAttachments {
			return set, fmt.Errorf("signature %d: more than %d of kind %q", i+1, signature.MaxAttachments, wire.Kind)
		}
		set.Signatures = append(set.Signatures, s)
		if wire.Counting {
			set.Counting = append(set.Counting, s)
		}
	}
	return set, checkLength(len(set.Counting), "counting signatures", maxCounting)
}

// isOfPart reports whether a message has a signature of the kind for each of its parts.
func isOfPart(k signature.Kind) bool {
	return k == signature.KindAttachment || k == signature.KindContent
}

func (w Signature) read() (signature.Signature, error) {
	kind, err := signature.ParseKind(w.Kind)
	if err != nil {
		return signature.Signature{}, err
	}
	switch kind {
	case signature.KindSketch, signature.KindImage, signature.KindShape, signature.KindDomain:
		return signature.Signature{}, fmt.Errorf("kind %q is not one of signatures", w.Kind)
	}
	s := signature.Signature{Kind: kind}
	if len(w.Digest) != hex.EncodedLen(len(s.Digest)) {
		return signature.Signature{}, fmt.Errorf("digest of %d characters; want 64 hex digits", len(w.Digest))
	}
	if _, err := hex.Decode(s.Digest[:], []byte(w.Digest)); err != nil {
		return signature.Signature{}, fmt.Errorf("digest: %w", err)
	}
	return s, nil
}

const (
	maxDomains = 16 // as in signature.Set

	// maxDomain is the length of the longest host name (RFC 1035, section 2.3.4), in bytes.
	// An address in brackets is shorter.
	maxDomain = 253
)

// checkDomains checks the link domains of a request.
func checkDomains(domains []string) error {
	if err := checkLength(len(domains), "domains", maxDomains); err != nil {
		return err
	}
	for i, d := range domains {
		switch {
		case len(d) > maxDomain:
			return fmt.Errorf("domain %d has %d bytes; at most %d", i+1, len(d), maxDomain)
		case !signature.IsDomain(d):
			return fmt.Errorf("domain %d: %q is no registrable domain in lower case ASCII, and no public IP address in brackets", i+1, d)
		case slices.Contains(domains[:i], d):
			return fmt.Errorf("domain %d stands there twice", i+1)
		}
	}
	return nil
}

// check returns an error if a list of a Request is over its bound.
func (l lists) check() error {
	return cmp.Or(
		checkLength(int(l.Signatures), "signatures", maxSignatures),
		checkLength(int(l.Sketches), "sketches", maxSketches),
		checkLength(int(l.Domains), "domains", maxDomains),
	)
}

func checkLength(n int, of string, most int) error {
	if n > most {
		return fmt.Errorf("%d %s; at most %d", n, of, most)
	}
	return nil
}
