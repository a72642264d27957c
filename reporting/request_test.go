package reporting

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/signature"
)

// What a client writes the server reads as the same set.
func TestRequestRoundTrip(t *testing.T) {
	digest := rapid.Custom(func(t *rapid.T) (d signature.Digest) {
		copy(d[:], rapid.SliceOfN(rapid.Byte(), len(d), len(d)).Draw(t, "digest"))
		return d
	})
	kind := rapid.SampledFrom([]signature.Kind{signature.KindBody, signature.KindText, signature.KindAttachment})
	rapid.Check(t, func(t *rapid.T) {
		var set signature.Set
		for _, d := range rapid.SliceOfNDistinct(digest, 0, MaxSignatures, rapid.ID).Draw(t, "digests") {
			set.Signatures = append(set.Signatures, signature.Signature{Kind: kind.Draw(t, "kind"), Digest: d})
		}
		n := rapid.IntRange(0, min(maxCounting, len(set.Signatures))).Draw(t, "counting")
		set.Counting = append(set.Counting, set.Signatures[:n]...)

		data, err := json.Marshal(NewRequest(set))
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > MaxBody {
			t.Fatalf("a valid request of %d bytes", len(data))
		}
		r, err := DecodeRequest(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Set()
		if err != nil || !reflect.DeepEqual(got, set) {
			t.Fatalf("%v, %v; want %v", got, err, set)
		}
	})
}

// FuzzDecodeRequest: whatever arrives, a request that is let through is within
// the bounds and means the same when it is written and read again.
func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(`{"signatures":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeRequest(bytes.NewReader(data))
		if err != nil {
			return
		}
		set, err := r.Set()
		if err != nil {
			t.Fatalf("let through, but %v", err)
		}
		if len(set.Signatures) > MaxSignatures || len(set.Counting) > maxCounting || len(r.Reporter) > maxReporter {
			t.Fatalf("over the bounds: %d signatures, %d counting, reporter of %d bytes",
				len(set.Signatures), len(set.Counting), len(r.Reporter))
		}
		if strings.ContainsAny(r.Reporter, "\r\n\x00 ") {
			t.Fatalf("reporter %q", r.Reporter)
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		r2, err := DecodeRequest(bytes.NewReader(again))
		if err != nil {
			t.Fatalf("read again: %v", err)
		}
		if set2, _ := r2.Set(); !reflect.DeepEqual(set, set2) || r2.Reporter != r.Reporter || r2.Class != r.Class {
			t.Fatalf("read again: %+v; want %+v", r2, r)
		}
	})
}
