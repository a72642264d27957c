package reporters

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// sinceForms are the accepted forms of a point in time. Without a zone it is UTC, like
// all printed times.
var sinceForms = []string{time.RFC3339, time.DateOnly, "2006-01-02 15:04", "2006-01-02 15:04 MST", time.DateTime}

const sinceHelp = "a time such as 2026-11-20, '2026-11-20 12:00' (UTC) or RFC 3339, or an age such as 90m, 36h, 7d, 2w"

// clock returns the time by which the daemon dates reports, if an age or a time is asked for: its own while it
// does not trust the wall clock. If it does not answer, the request itself has the error.
func clock(ctx context.Context, c *verb.CLI, sinceText string) time.Time {
	now := time.Now()
	if sinceText == "" {
		return now
	}
	daemon, err := c.Dial()
	if err != nil {
		return now
	}
	defer daemon.Close()
	if s, err := client.Get(ctx, daemon, v1.Status); err == nil && s.Database.Clock != nil {
		return s.Database.Clock.Time
	}
	return now
}

// parseSince parses a time in the past: a point in time, or its age.
func parseSince(text string, now time.Time) (time.Time, error) {
	for _, form := range sinceForms {
		if t, err := time.Parse(form, text); err == nil {
			if t.After(now) {
				return t, fmt.Errorf("%s is in the future", format.Instant(t))
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

// parseAgo parses a duration in which weeks (w) and days (d) may precede hours and
// smaller units.
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
			return 0, fmt.Errorf("%q is not a number of %s", before, unit.name)
		}
		sum, text = sum+time.Duration(n)*unit.is, after
		if text == "" {
			return sum, nil
		}
	}
	rest, err := time.ParseDuration(text)
	if err == nil && (rest < 0 || rest > 1<<62) {
		err = fmt.Errorf("%q is not an age", text)
	}
	return sum + rest, err
}
