package api

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

// message is what a request says.
type message struct {
	set      signature.Set
	reporter string
	class    bloomdb.Class
}

// receive reads a request as the server does.
func receive(data []byte) (message, error) {
	var r Request
	if err := Decode(bytes.NewReader(data), &r); err != nil {
		return message{}, err
	}
	set, err := r.Read()
	if err != nil {
		return message{}, err
	}
	return message{set, r.Reporter, r.Class}, nil
}

// resend writes a request as a client does, and reads it again.
func resend(m message) (message, error) {
	request := NewRequest(m.set)
	request.Reporter, request.Class = m.reporter, m.class
	data, err := json.Marshal(request)
	if err != nil {
		return message{}, err
	}
	return receive(data)
}

// What a client writes the server reads as the same set.
func TestRequestRoundTrip(t *testing.T) {
	digest := rapid.Custom(func(t *rapid.T) (d signature.Digest) {
		copy(d[:], rapid.SliceOfN(rapid.Byte(), len(d), len(d)).Draw(t, "digest"))
		return d
	})
	rapid.Check(t, func(t *rapid.T) {
		want := message{reporter: "anna@example.org", class: rapid.SampledFrom(bloomdb.Classes()).Draw(t, "class")}
		for i, d := range rapid.SliceOfNDistinct(digest, 0, maxSignatures, rapid.ID).Draw(t, "digests") {
			k := []signature.Kind{signature.KindContent, signature.KindAttachment}[i%2]
			if i < 4 { // a message has one of each, and two phrases
				k = []signature.Kind{signature.KindBody, signature.KindText, signature.KindPhrase, signature.KindPhrase}[i]
			}
			want.set.Signatures = append(want.set.Signatures, signature.Signature{Kind: k, Digest: d})
		}
		n := rapid.IntRange(0, min(maxCounting, len(want.set.Signatures))).Draw(t, "counting")
		want.set.Counting = append(want.set.Counting, want.set.Signatures[:n]...)
		want.set.Domains = []string{"example.com", "example.org"}[:rapid.IntRange(1, 2).Draw(t, "domains")]
		want.set.Carried = rapid.IntRange(0, len(want.set.Domains)).Draw(t, "carried")
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
		return `{"` + name + `":[` + strings.Repeat(element+",", (MaxBody-100)/(len(element)+1)) + element
	}
	for _, c := range []struct{ text, want string }{
		{fill("signatures", "{}") + `]}`, "signatures; at most 36"},
		{fill("sketches", "{}") + `]}`, "sketches; at most 9"},
		{fill("sketches", "{}") + `],"sketches":[]}`, "sketches; at most 9"},
		{fill("Sketches", "null") + `]}`, "sketches; at most 9"},
		{fill("domains", `""`) + `]}`, "domains; at most 16"},
		{fill("domains", "0") + `]}`, "domains; at most 16"},
	} {
		text := []byte(c.text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := receive(text)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%.30s: %v, want %q", c.text, err, c.want)
		}
		// The decoder's buffer doubles up to twice the text.
		if n := after.TotalAlloc - before.TotalAlloc; n > 7*MaxBody {
			t.Errorf("%.30s: %d bytes were allocated for %d", c.text, n, len(c.text))
		}
	}
}

// FuzzDecodeRequest: whatever arrives, a report that is let through is within
// the bounds and means the same when it is sent again.
func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(`{"signatures":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := receive(data)
		if err != nil {
			return
		}
		set := report.set
		if len(set.Signatures) > maxSignatures || len(set.Counting) > maxCounting || len(report.reporter) > MaxReporter {
			t.Fatalf("over the bounds: %d signatures, %d counting, reporter of %d bytes",
				len(set.Signatures), len(set.Counting), len(report.reporter))
		}
		if strings.ContainsAny(report.reporter, "\r\n\x00 ") {
			t.Fatalf("reporter %q", report.reporter)
		}
		if again, err := resend(report); err != nil || !reflect.DeepEqual(again, report) {
			t.Fatalf("sent again: %+v, %v; want %+v", again, err, report)
		}
	})
}
