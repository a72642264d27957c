package testenv

import (
	"strconv"
	"testing"
)

func TestRounds(t *testing.T) {
	for _, c := range []struct {
		soak               string
		full, usual, brief int
	}{
		{"", 60, 20, 6}, {"", 2, 1, 1}, {"1", 60, 60, 60},
	} {
		t.Setenv("SPAMBLOOM_SOAK", c.soak)
		want := c.usual
		if testing.Short() {
			want = c.brief
		}
		if got := Rounds(c.full); got != want {
			t.Errorf("%d rounds of %d with SPAMBLOOM_SOAK=%q, want %d", got, c.full, c.soak, want)
		}
	}
}

func TestSeed(t *testing.T) {
	t.Setenv("SPAMBLOOM_SEED", "18446744073709551615")
	if got := Seed(t); strconv.FormatUint(got, 10) != "18446744073709551615" {
		t.Errorf("seed %d, another one was set", got)
	}
	t.Setenv("SPAMBLOOM_SEED", "")
	if Seed(t) == 0 {
		t.Error("no seed")
	}
}
