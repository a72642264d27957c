package reporters

import (
	"strings"
	"testing"
	"time"
)

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 11, 21, 18, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-11-20":                now.Add(-42*time.Hour - 30*time.Minute),
		"2026-11-20 12:00":          time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		"2026-11-20 12:00 UTC":      time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), // as it is printed
		"2026-11-20T12:00:00+02:00": time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC),
		"36h":                       now.Add(-36 * time.Hour),
		"90m":                       now.Add(-90 * time.Minute),
		"7d":                        now.AddDate(0, 0, -7),
		"2w":                        now.AddDate(0, 0, -14),
		"1w2d3h4m":                  now.AddDate(0, 0, -9).Add(-3*time.Hour - 4*time.Minute),
		"0s":                        now,
	} {
		got, err := parseSince(text, now)
		if err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "want a time such as", "yesterday": "want a time such as", "7": "want a time such as", "-3h": "want a time such as", "d": "want a time such as", "-1d": "want a time such as",
		"1d2w": "want a time such as", "99999999d": "want a time such as", "65535w65535w": "want a time such as", "7000w2562047h": "want a time such as", "2026-13-01": "want a time such as",
		"2027-01-01": "2027-01-01 00:00 UTC is in the future", strings.Repeat("9", 1000): `9"...: want`,
	} {
		if got, err := parseSince(text, now); err == nil || !strings.Contains(err.Error(), want) && len(text) < 100 || err != nil && len(err.Error()) > 300 {
			t.Errorf("%q is %v, %v; want %q", text, got, err, want)
		}
	}
}
