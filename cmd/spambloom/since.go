package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// sinceForms are how a point in time is written; without a zone it is UTC, as all
// times that are printed.
var sinceForms = []string{time.RFC3339, time.DateOnly, "2006-01-02 15:04", "2006-01-02 15:04 MST", time.DateTime}

const sinceHelp = "a time as 2026-11-20, '2026-11-20 12:00' (UTC) or in RFC 3339, or how long ago, as 90m, 36h, 7d, 2w"

// parseSince reads a time that has been: a point in time, or how long ago it was.
func parseSince(text string, now time.Time) (time.Time, error) {
	for _, form := range sinceForms {
		if t, err := time.Parse(form, text); err == nil {
			if t.After(now) {
				return t, fmt.Errorf("%s has not come yet", instant(t))
			}
			return t.UTC(), nil
		}
	}
	ago, err := parseAgo(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%.60q: want %s", text, sinceHelp)
	}
	return now.Add(-ago).UTC(), nil
}

// parseAgo reads a duration, with d and w for days and weeks before the units of
// hours and less.
func parseAgo(text string) (time.Duration, error) {
	var sum time.Duration
	for _, unit := range []struct {
		name string
		is   time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		before, after, ok := strings.Cut(text, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(before, 10, 16) // 65,535 weeks do not overflow twice
		if err != nil || time.Duration(n) > (1<<62-sum)/unit.is {
			return 0, fmt.Errorf("%q is no number of %s", before, unit.name)
		}
		sum, text = sum+time.Duration(n)*unit.is, after
		if text == "" {
			return sum, nil
		}
	}
	rest, err := time.ParseDuration(text)
	if err == nil && (rest < 0 || rest > 1<<62) {
		err = fmt.Errorf("%q is no time ago", text)
	}
	return sum + rest, err
}
