package overview_test

import (
	"testing"

	"github.com/spambloom/spambloom/reporting/overview"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{"": "", "no folder \u00fc": "no folder \u00fc", "one\ntwo": "one; two", "a\r\x1b[31m\x07\t\u0085b": "a??[31m???b"} {
		if got := overview.Line(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestOneIn(t *testing.T) {
	for p, want := range map[float64]string{
		0: "no mail", 5e-16: "less than one mail in a billion", 3.2e-7: "about one mail in 3.1 million", 1e-6: "about one mail in 1 million",
		1e-5: "about one mail in 100,000", 0.01: "about one mail in 100", 2e-9: "about one mail in 500 million", 0.4: "about one mail in 3", 0.9: "most mail",
		1.1e-9: "about one mail in 910 million", 1.02e-6: "about one mail in 980,000",
	} {
		if got := overview.OneIn(p); got != want {
			t.Errorf("%g: %q, want %q", p, got, want)
		}
	}
}

func TestChance(t *testing.T) {
	for p, want := range map[float64]string{0: "none", 5e-16: "<1 in a billion", 4.3e-7: "1 in 2.3 million", 0.01: "1 in 100"} {
		if got := overview.Chance(p); got != want {
			t.Errorf("%g: %q, want %q", p, got, want)
		}
	}
}

func TestFrom(t *testing.T) {
	for origin, want := range map[string]string{"unix:0": "root", "unix:4000000": "user 4000000", "tcp:store1": "store1", "trap": "trap", "": ""} {
		if got := overview.From(origin); got != want {
			t.Errorf("%q: %q, want %q", origin, got, want)
		}
	}
}
