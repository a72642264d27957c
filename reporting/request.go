package reporting

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/signature"
)

// Bounds of a request.
const (
	maxBody       = 2 << 20 // bytes
	maxSignatures = 2 + 2*signature.MaxAttachments
	maxCounting   = 2 // as signature.Set says
)

// Request is the body of every POST: one message's signatures and sketches, and for a
// report or a revocation who makes it and what sort of spam it is.
type Request struct {
	Signatures []Signature   `json:"signatures"`
	Sketches   []Sketch      `json:"sketches,omitempty"`
	Domains    []string      `json:"domains,omitempty"` // that it links to, as signature.Set has them
	Carried    int           `json:"carried,omitempty"` // so many of Domains, the last ones, no report lists
	Reporter   string        `json:"reporter,omitempty"`
	Class      bloomdb.Class `json:"class,omitzero"` // by name; none is bloomdb.ClassOther
}

// Signature is a signature.Signature on the wire.
type Signature struct {
	Kind     string `json:"kind"`
	Digest   string `json:"digest"`             // 64 hex digits
	Counting bool   `json:"counting,omitempty"` // the message is counted under it
}

// NewRequest writes a message's signatures as a request.
func NewRequest(set signature.Set) Request {
	r := Request{Signatures: make([]Signature, len(set.Signatures)), Sketches: newSketches(set.Sketches), Domains: set.Domains, Carried: set.Carried}
	for i, s := range set.Signatures {
		r.Signatures[i] = Signature{s.Kind.String(), hex.EncodeToString(s.Digest[:]), slices.Contains(set.Counting, s)}
	}
	return r
}

// decodeRequest reads one request as a report; for a question only its set
// counts. It is a single JSON object without unknown members, within the
// bounds, whose every member is valid. The error says what is wrong with which
// member. It is for the caller to bound the bytes.
func decodeRequest(body io.Reader) (Report, error) {
	var r Request
	if err := decodeObject(body, &r); err != nil {
		return Report{}, err
	}
	return r.report()
}

// decodeObject reads a single JSON object without unknown members, whose lists are
// within the bounds: a small element of a list takes many times its text in memory, so
// the elements are counted before any is stored.
func decodeObject(body io.Reader, object any) error {
	var text json.RawMessage
	decoder := json.NewDecoder(body)
	if err := decoder.Decode(&text); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if err := checkLists(text); err != nil {
		return err
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(object); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("more follows the object")
		}
		return fmt.Errorf("read the request: %w", err)
	}
	return nil
}

// checkLists returns an error if a list of a Request is over its bound. Its memory does
// not depend on the lengths of the lists.
func checkLists(text json.RawMessage) error {
	var lists struct {
		Signatures listLength `json:"signatures"`
		Sketches   listLength `json:"sketches"`
		Domains    listLength `json:"domains"`
	}
	_ = json.Unmarshal(text, &lists) // not an object: the caller's decoder reports it
	return cmp.Or(
		checkLength(int(lists.Signatures), "signatures", maxSignatures),
		checkLength(int(lists.Sketches), "sketches", maxSketches),
		checkLength(int(lists.Domains), "domains", maxDomains),
	)
}

func checkLength(n int, of string, most int) error {
	if n > most {
		return fmt.Errorf("%d %s; at most %d", n, of, most)
	}
	return nil
}

// listLength is the length of a JSON list; of several lists under one name, the largest.
type listLength int

// UnmarshalJSON counts the elements. They are not stored.
func (l *listLength) UnmarshalJSON(list []byte) error {
	var elements []unread
	_ = json.Unmarshal(list, &elements) // not a list: no element is stored either
	*l = max(*l, listLength(len(elements)))
	return nil
}

// unread is any JSON value, in no memory.
type unread struct{}

// UnmarshalJSON leaves the value unread.
func (*unread) UnmarshalJSON([]byte) error { return nil }

// report checks every member.
func (r Request) report() (Report, error) {
	set, err := decodeSet(r.Signatures)
	if err != nil {
		return Report{}, err
	}
	if set.Sketches, err = decodeSketches(r.Sketches); err != nil {
		return Report{}, err
	}
	if set.Domains, err = decodeDomains(r.Domains); err != nil {
		return Report{}, err
	}
	if set.Carried = r.Carried; r.Carried < 0 || r.Carried > len(r.Domains) {
		return Report{}, fmt.Errorf("carried %d of %d domains", r.Carried, len(r.Domains))
	}
	if err := CheckReporter(r.Reporter); err != nil {
		return Report{}, err
	}
	return Report{Set: set, Reporter: r.Reporter, Class: r.Class}, nil
}

// decodeSet reads signatures back. The error names the first one that is wrong.
func decodeSet(signatures []Signature) (set signature.Set, err error) {
	if err := checkLength(len(signatures), "signatures", maxSignatures); err != nil {
		return set, err
	}
	var of [256]int // by kind
	for i, wire := range signatures {
		s, err := wire.decode()
		if err != nil {
			return set, fmt.Errorf("signature %d: %w", i+1, err)
		}
		if slices.Contains(set.Signatures, s) {
			return set, fmt.Errorf("signature %d stands there twice", i+1)
		}
		if of[s.Kind]++; of[s.Kind] > 1 && !isOfPart(s.Kind) {
			return set, fmt.Errorf("signature %d: a second one of kind %q; a message has one", i+1, wire.Kind)
		}
		if of[s.Kind] > signature.MaxAttachments {
			return set, fmt.Errorf("signature %d: more than %d of kind %q", i+1, signature.MaxAttachments, wire.Kind)
		}
		set.Signatures = append(set.Signatures, s)
		if wire.Counting {
			set.Counting = append(set.Counting, s)
		}
	}
	if len(set.Counting) > maxCounting {
		return set, fmt.Errorf("%d counting signatures; at most %d", len(set.Counting), maxCounting)
	}
	return set, nil
}

// isOfPart tells the kinds of which a message has one for each of its parts.
func isOfPart(k signature.Kind) bool {
	return k == signature.KindAttachment || k == signature.KindContent
}

func (w Signature) decode() (signature.Signature, error) {
	kind, err := signature.ParseKind(w.Kind)
	if err != nil {
		return signature.Signature{}, err
	}
	switch kind {
	case signature.KindSketch, signature.KindImage, signature.KindDomain:
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
