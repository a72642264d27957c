package reporting

import (
	"bytes"
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/signature"
)

// resend writes a report as a client does, and reads it again.
func resend(report Report) (Report, error) {
	request := NewRequest(report.Set)
	request.Reporter, request.Class = report.Reporter, report.Class
	data, err := json.Marshal(request)
	if err != nil {
		return Report{}, err
	}
	return decodeRequest(bytes.NewReader(data))
}

// What a client writes the server reads as the same set.
func TestRequestRoundTrip(t *testing.T) {
	digest := rapid.Custom(func(t *rapid.T) (d signature.Digest) {
		copy(d[:], rapid.SliceOfN(rapid.Byte(), len(d), len(d)).Draw(t, "digest"))
		return d
	})
	rapid.Check(t, func(t *rapid.T) {
		want := Report{Reporter: "anna@example.org", Class: rapid.SampledFrom(bloomdb.Classes()).Draw(t, "class")}
		for i, d := range rapid.SliceOfNDistinct(digest, 0, maxSignatures, rapid.ID).Draw(t, "digests") {
			k := []signature.Kind{signature.KindContent, signature.KindAttachment}[i%2]
			if i < 2 { // a message has one of those
				k = []signature.Kind{signature.KindBody, signature.KindText}[i]
			}
			want.Set.Signatures = append(want.Set.Signatures, signature.Signature{Kind: k, Digest: d})
		}
		n := rapid.IntRange(0, min(maxCounting, len(want.Set.Signatures))).Draw(t, "counting")
		want.Set.Counting = append(want.Set.Counting, want.Set.Signatures[:n]...)
		want.Set.Domains = []string{"example.com", "example.org"}[:rapid.IntRange(1, 2).Draw(t, "domains")]
		want.Set.Carried = rapid.IntRange(0, len(want.Set.Domains)).Draw(t, "carried")
		got, err := resend(want)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v, %v; want %v", got, err, want)
		}
	})
}

// A request with lists far over the bounds is refused before its elements are stored, also
// where a short list of the same name follows.
func TestLongListsAreNotStored(t *testing.T) {
	fill := func(name, element string) string {
		return `{"` + name + `":[` + strings.Repeat(element+",", (maxBody-100)/(len(element)+1)) + element
	}
	for _, c := range []struct{ text, want string }{
		{fill("signatures", "{}") + `]}`, "signatures; at most 34"},
		{fill("sketches", "{}") + `]}`, "sketches; at most 7"},
		{fill("sketches", "{}") + `],"sketches":[]}`, "sketches; at most 7"},
		{fill("Sketches", "null") + `]}`, "sketches; at most 7"},
		{fill("domains", `""`) + `]}`, "domains; at most 16"},
		{fill("domains", "0") + `]}`, "domains; at most 16"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decodeRequest(strings.NewReader(c.text))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%.30s: %v, want %q", c.text, err, c.want)
		}
		// The decoder's buffer doubles up to twice the text.
		if n := after.TotalAlloc - before.TotalAlloc; n > 7*maxBody {
			t.Errorf("%.30s: %d bytes were allocated for %d", c.text, n, len(c.text))
		}
	}
}

// FuzzDecodeRequest: whatever arrives, a report that is let through is within
// the bounds and means the same when it is sent again.
func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(`{"signatures":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := decodeRequest(bytes.NewReader(data))
		if err != nil {
			return
		}
		set := report.Set
		if len(set.Signatures) > maxSignatures || len(set.Counting) > maxCounting || len(report.Reporter) > maxReporter {
			t.Fatalf("over the bounds: %d signatures, %d counting, reporter of %d bytes",
				len(set.Signatures), len(set.Counting), len(report.Reporter))
		}
		if strings.ContainsAny(report.Reporter, "\r\n\x00 ") {
			t.Fatalf("reporter %q", report.Reporter)
		}
		if again, err := resend(report); err != nil || !reflect.DeepEqual(again, report) {
			t.Fatalf("sent again: %+v, %v; want %+v", again, err, report)
		}
	})
}
