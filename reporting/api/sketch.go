package api

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/spambloom/spambloom/signature"
)

const (
	maxSketches = signature.MaxTexts + signature.MaxImages + 1
	featureHash = 8 // bytes
)

// Sketch is the wire form of signature.Sketch. Its features are in the order of their
// positions. Each is the distance from the feature before, as an unsigned varint
// (encoding/binary), and the hash in 8 bytes, big-endian. The whole is in base64 (RFC
// 4648, section 4).
type Sketch struct {
	Kind    string `json:"kind"`
	Anchors string `json:"anchors"`
	Keys    string `json:"keys"`
	AskOnly bool   `json:"ask_only,omitempty"` // too little content to be reported
}

func newSketches(sketches []signature.Sketch) []Sketch {
	var list []Sketch
	for _, s := range sketches[:min(len(sketches), maxSketches)] {
		anchors, keys := signature.MaxFeatures(s.Kind)
		list = append(list, Sketch{s.Kind.String(), encodeFeatures(s.Anchors, anchors), encodeFeatures(s.Keys, keys), s.AskOnly})
	}
	return list
}

func encodeFeatures(features []signature.Feature, most int) string {
	var b []byte
	last := uint32(0)
	for _, f := range features[:min(len(features), most)] {
		b = binary.AppendUvarint(b, uint64(f.Pos-last))
		b = binary.BigEndian.AppendUint64(b, f.Hash)
		last = f.Pos
	}
	return base64.StdEncoding.EncodeToString(b)
}

// readSketches returns an error that names the first sketch that is wrong.
func readSketches(sketches []Sketch) ([]signature.Sketch, error) {
	if err := checkLength(len(sketches), "sketches", maxSketches); err != nil {
		return nil, err
	}
	var list []signature.Sketch
	images := 0
	for i, wire := range sketches {
		s, err := wire.read()
		if err != nil {
			return nil, fmt.Errorf("sketch %d: %w", i+1, err)
		}
		if s.Kind == signature.KindSketch && (i >= signature.MaxTexts || i > 0 && list[i-1].Kind != s.Kind) {
			return nil, fmt.Errorf("sketch %d: those of the text are the first ones, at most %d", i+1, signature.MaxTexts)
		}
		if s.Kind == signature.KindSketch && i == 1 && !s.AskOnly && !list[0].AskOnly {
			return nil, errors.New("sketch 2: of the first two of the text, one is only asked")
		}
		if s.Kind == signature.KindImage {
			images++
		}
		if images > signature.MaxImages {
			return nil, fmt.Errorf("sketch %d: more than %d of kind %q", i+1, signature.MaxImages, wire.Kind)
		}
		if s.Kind == signature.KindShape && i != len(sketches)-1 {
			return nil, fmt.Errorf("sketch %d: that of kind %q is the last one", i+1, wire.Kind)
		}
		list = append(list, s)
	}
	return list, nil
}

func (w Sketch) read() (s signature.Sketch, err error) {
	if s.Kind, err = signature.ParseKind(w.Kind); err != nil {
		return s, err
	}
	switch s.Kind {
	case signature.KindSketch, signature.KindImage, signature.KindShape:
	default:
		return s, fmt.Errorf("kind %q is not one of sketches", w.Kind)
	}
	s.AskOnly = w.AskOnly
	anchors, keys := signature.MaxFeatures(s.Kind)
	if s.Anchors, err = decodeFeatures(w.Anchors, anchors); err != nil {
		return s, fmt.Errorf("anchors: %w", err)
	}
	if s.Keys, err = decodeFeatures(w.Keys, keys); err != nil {
		return s, fmt.Errorf("keys: %w", err)
	}
	return s, s.Check()
}

// longestFeature is the length of the longest feature on the wire, in bytes.
const longestFeature = binary.MaxVarintLen32 + featureHash

// decodeFeatures takes no more memory than the text.
func decodeFeatures(text string, most int) ([]signature.Feature, error) {
	if len(text) > base64.StdEncoding.EncodedLen(most*longestFeature) {
		return nil, fmt.Errorf("%d characters; %d features have less", len(text), most)
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	var features []signature.Feature
	last := uint64(0)
	for len(b) > 0 {
		if len(features) == most {
			return nil, fmt.Errorf("more than %d", most)
		}
		apart, n := binary.Uvarint(b)
		if n <= 0 || apart > math.MaxUint32-last || len(b) < n+featureHash {
			return nil, errors.New("cut short, or a position is too large")
		}
		last += apart
		features = append(features, signature.Feature{Hash: binary.BigEndian.Uint64(b[n:]), Pos: uint32(last)})
		b = b[n+featureHash:]
	}
	return features, nil
}
