package batch

import (
	"testing"
	"time"

	"github.com/spambloom/spambloom/signature"
)

func TestDateOf(t *testing.T) {
	for value, want := range map[string]string{
		"Fri, 20 Nov 2026 12:00:00 +0100":        "2026-11-20T11:00:00Z",
		" Fri, 20 Nov\n 2026 12:00:00 +0100 (X)": "2026-11-20T11:00:00Z",
		"20 Nov 26 12:00 GMT":                    "2026-11-20T12:00:00Z",
		"yesterday":                              "0001-01-01T00:00:00Z",
		"Fri, 20 Nov 1026 12:00:00 +0100":        "0001-01-01T00:00:00Z",
	} {
		if got := dateOf(signature.Message{Header: []signature.Field{{Name: "date", Value: value}}}).Format(time.RFC3339); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}
