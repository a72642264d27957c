package overview

import (
	"fmt"
	"os/user"
	"strings"
	"time"
	"unicode"
)

// From names the way that a report came: by a user of this machine, from another machine, or
// through a trap.
func From(origin string) string {
	uid, isUser := strings.CutPrefix(origin, "unix:")
	if !isUser {
		return strings.TrimPrefix(origin, "tcp:")
	}
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return "user " + uid
}

// Line returns text as one line, with a ? for each control character but line ends. An error may have the
// name of a file, or the answer of another program, which must not add a line to what somebody reads.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, strings.ReplaceAll(text, "\n", "; "))
}

// OneIn puts a small probability in words: "about one mail in 3.1 million".
func OneIn(p float64) string {
	switch {
	case !(p > 0):
		return "no mail"
	case p < 1e-9:
		return "less than one mail in a billion"
	case p >= 0.5:
		return "most mail"
	}
	n := 1 / p
	for _, u := range []struct {
		size float64
		word string
	}{{1e9, " billion"}, {1e6, " million"}, {1, ""}} {
		if n/u.size < 0.9995 {
			continue
		}
		v := n / u.size
		if v >= 9.95 || u.word == "" {
			return "about one mail in " + Thousands(uint64(round(v))) + u.word
		}
		return "about one mail in " + strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + u.word
	}
	return "most mail"
}

// Chance puts a small probability in few words: "1 in 2.3 million".
func Chance(p float64) string {
	switch {
	case !(p > 0):
		return "none"
	case p < 1e-9:
		return "<1 in a billion"
	}
	return strings.Replace(OneIn(p), "about one mail in", "1 in", 1)
}

// round keeps two digits.
func round(v float64) float64 {
	unit := 1.0
	for v/unit >= 100 {
		unit *= 10
	}
	return float64(int64(v/unit+0.5)) * unit
}

// Thousands formats a number with commas: 18,402.
func Thousands(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Ago formats the time from t to now in its largest unit.
func Ago(t, now time.Time) string {
	d := max(now.Sub(t), 0)
	switch {
	case t.IsZero():
		return "never"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	}
	return fmt.Sprintf("%d days ago", d/(24*time.Hour))
}
