package mimefield_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature/mimefield"
)

func TestWithoutComments(t *testing.T) {
	for _, tt := range []struct{ value, want string }{
		{"text/plain", "text/plain"},
		{"(x) text (y(z)) / (\\)) plain ; a=\"(b)\"(c)", "text/plain ; a=\"(b)\""},
		{"base64 (open", "base64 (open"},
		{`"open (x)`, `"open (x)`},
		{`x="a/b" / c`, `x="a/b" / c`},
		{"", ""},
	} {
		if got := mimefield.WithoutComments(tt.value); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.value, got, tt.want)
		}
	}
}

func TestBoundaries(t *testing.T) {
	for _, tt := range []struct {
		value string
		want  []string
	}{
		{"multipart/mixed; boundary=b", []string{"b"}},
		{`multipart/mixed; boundary="----=_Part (1)/x"; charset=x`, []string{"----=_Part (1)/x"}},
		{`multipart/mixed; boundary="=?utf-8?Q?b?="`, []string{"=?utf-8?Q?b?="}},
		{"multipart/mixed; boundary*0=a; boundary*1=b", []string{"ab"}},
		{"multipart/mixed; boundary=a; boundary=b", []string{"a", "b"}},
		{`multipart/mixed; boundary="a\b"`, []string{`a\b`, "ab"}},
		{`multipart/mixed; x=a"; boundary=c; y=b"; boundary=d`, []string{"d", "c"}},
		{"multipart/mixed; boundary=", nil},
		{"multipart/mixed; boundary=" + strings.Repeat("b", mimefield.MaxBoundary+1), nil},
	} {
		_, params := mimefield.ContentType(tt.value)
		if got := mimefield.Boundaries(nil, tt.value, params["boundary"]); !slices.Equal(got, tt.want) {
			t.Errorf("%.80q: got %.200q, want %q", tt.value, got, tt.want)
		}
	}
}

// A megabyte of the pieces that delimit others is copied a few times, not once for each piece.
func TestLongFields(t *testing.T) {
	for _, piece := range []string{";", "(", ")", `"`, `\`, `="`, `;a= "\`, ";boundary=b", ";boundary*0=b", "(x)\"", ";x=a\"", "/"} {
		value := "multipart/mixed" + strings.Repeat(piece, 1<<20/len(piece))
		before := allocated()
		_, params := mimefield.ContentType(mimefield.WithoutComments(value))
		mimefield.Boundaries(nil, value, params["boundary"])
		if took := allocated() - before; took > 64<<20 {
			t.Errorf("%q: %d bytes were allocated", piece, took)
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// FuzzFields reads any field: the readings are bounded, whatever a sender writes.
func FuzzFields(f *testing.F) {
	for _, s := range []string{
		`multipart/mixed (a (b) c) ; boundary="a\b;c"; Boundary=d e; x=a"; boundary=f; y=g"`, `multipart / x; boundary*0="a"; boundary*1*=%41; boundary*=utf-8''b`,
		`(x) base64`, `"base64" (y`, `form-data; name="(`, `multipart/mixed; boundary="`, `a/b;charset=\"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		mediaType, params := mimefield.ContentType(value)
		list := mimefield.Boundaries(nil, value, params["boundary"])
		plain := mimefield.WithoutComments(value)
		list = mimefield.Boundaries(list, plain, "")
		if len(list) > 24 || len(plain) > len(value) || len(mediaType) > 3*len(value)+len("text/plain") { // lower case of faulty UTF-8
			t.Fatalf("%d boundaries, %q without comments, type %q", len(list), plain, mediaType)
		}
		for _, boundary := range list {
			if boundary == "" || len(boundary) > mimefield.MaxBoundary {
				t.Fatalf("a boundary of %d bytes", len(boundary))
			}
		}
		mimefield.Disposition(value)
		mimefield.TransferEncoding(value)
	})
}
