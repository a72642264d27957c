package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/config"
)

// The printed commands respect the flags, and contain no password.
func TestNextShowsRedis(t *testing.T) {
	for flag, want := range map[string]string{
		"": "Redis: none.",
		"redis://me:secret@db:6379/0?password=secret": "Redis: redis://***@db:6379/0?***.",
		"unix:///run/redis.sock":                      "Redis: unix:///run/redis.sock.",
	} {
		s := &settings{Config: config.Default(), data: "/data"}
		s.Redis.URL = flag
		var out bytes.Buffer
		printNext(&out, s)
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "secret") {
			t.Errorf("with --redis %q, want %q:\n%s", flag, want, out.String())
		}
		s.file = "c.toml"
		out.Reset()
		if printNext(&out, s); out.Len() > 0 {
			t.Errorf("with a configuration file: %s", out.String())
		}
	}
}

// The printed commands end with a listing, however often they are repeated: the newest word
// about the sample is a report.
func TestNextEndsInAListing(t *testing.T) {
	var out bytes.Buffer
	printNext(&out, &settings{Config: config.Default(), data: "/data"})
	var verbs []string
	for line := range strings.Lines(out.String()) {
		if fields := strings.Fields(line); strings.HasPrefix(line, "  ") && len(fields) > 1 {
			verbs = append(verbs, fields[1])
		}
	}
	if got := strings.Join(verbs, " "); got != "sign report revoke report check status" {
		t.Errorf("commands %s", got)
	}
}
