package value_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/internal/config/value"
)

func TestFitName(t *testing.T) {
	for in, want := range map[string]string{
		"mx1.example.org":        "mx1.example.org",
		"":                       "site",
		"mail host":              "mail-host",
		".hidden":                "-hidden",
		"müller":                 "m-ller",
		strings.Repeat("x", 100): strings.Repeat("x", 64),
	} {
		if got := value.FitName(in); got != want {
			t.Errorf("FitName(%q) = %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := value.FitName(rapid.String().Draw(t, "host name"))
		if read, err := value.Name("a site name").Read(name); err != nil || read != name || name == "" {
			t.Fatal(name, err)
		}
	})
}

// A size is read as it was shown.
func TestSizes(t *testing.T) {
	sizes := value.Size(0, math.MaxInt64)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Min(0).Draw(t, "n")
		if got, err := sizes.Read(sizes.Show(n)); err != nil || got != n {
			t.Fatalf("%d -> %s -> %d, %v", n, sizes.Show(n), got, err)
		}
	})
}

// A duration is shown as Go parses it, without zeros at its end.
func TestDurations(t *testing.T) {
	durations := value.Duration(0, time.Hour)
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64().Draw(t, "d"))
		shown := durations.Show(d).(string)
		if got, err := time.ParseDuration(shown); err != nil || got != d {
			t.Fatalf("%d -> %s -> %d", d, shown, got)
		}
	})
	if got := durations.Show(24 * time.Hour); got != "24h" {
		t.Error(got)
	}
}

func TestAddressForms(t *testing.T) {
	long := strings.Repeat("a", 63)
	for s, good := range map[string]bool{
		"user@example.org": true, "example.org": true, ".example.org": true, "a@b": true, "_dmarc.example.org": true,
		"xn--bcher-kva.example": true, "bücher.example": true, "o'neil+tag@example.org": true, long + ".org": true,
		"": false, "@": false, ".": false, "..example.org": false, "example.org.": false, "-a.org": false, "a-.org": false,
		"user@": false, "a@b@c": false, "us er@a.org": false, "<a@b.org>": false, "a@b.org\x00": false, "a\r@b.org": false,
		`"a b"@c.org`: false, "*@b.org": true, "a@*.org": false, "a\ufffd@b.org": false, "192.0.2.1": false, ".192.0.2.1": false, "a@[192.0.2.1]": false,
		"a@ban\u212a.example": false, ".\uff45xample.org": false, "xn--bcher-kv!.example": false, "xn--99999999.example": false,
		strings.Repeat("ü", 50) + ".example": true, strings.Repeat("ü", 60) + ".example": false, long + "a.org": false, strings.Repeat("a", 64+1) + "@b.org": false, strings.Repeat("a.", 128) + "org": false,
	} {
		if _, err := value.Patterns().Read([]any{s}); (err == nil) != good {
			t.Errorf("%q: %v", s, err)
		}
	}
}
