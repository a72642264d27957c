package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The printed commands respect the flags, and contain no password.
func TestGreetingShowsRedis(t *testing.T) {
	for flag, want := range map[string]string{
		"": "Redis: none.",
		"redis://me:secret@db:6379/0?password=secret": "Redis: redis://***@db:6379/0?***.",
		"unix:///run/redis.sock":                      "Redis: unix:///run/redis.sock.",
	} {
		s := &settings.Settings{Config: config.Default(), Data: "/data"}
		s.Redis.URL = flag
		var out bytes.Buffer
		greet(&out, s, s.HTTP.Listen != "")
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "secret") {
			t.Errorf("with --redis %q, want %q:\n%s", flag, want, out.String())
		}
		s.File = "c.toml"
		out.Reset()
		greet(&out, s, s.HTTP.Listen != "")
		if n := bytes.Count(out.Bytes(), []byte("\n")); n != 7 || strings.Contains(out.String(), "Next") { // with an empty line before and after
			t.Errorf("with a configuration file, %d lines:\n%s", n, out.String())
		}
	}
}

// The greeting names the page, and what differs from the defaults; --print-config has the
// values, and no password.
func TestGreetingShowsDifferences(t *testing.T) {
	s := &settings.Settings{Config: config.Default(), Data: "/data", Name: "mx1"}
	var out bytes.Buffer
	greet(&out, s, s.HTTP.Listen != "")
	for _, want := range []string{" as the site mx1.\n", "\nPage: http://127.0.0.1:8898/. ", "\nDifferent from the defaults: nothing.\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	s.HTTP.Listen, s.Bulk.Threshold, s.Redis.URL = "", 7, "redis://me:secret@db:6379/0"
	out.Reset()
	greet(&out, s, s.HTTP.Listen != "")
	if want := "\nPage: none. "; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out.String())
	}
	if want := "\nDifferent from the defaults: bulk.threshold, redis.url, http.listen.\n"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out.String())
	}
	out.Reset()
	testenv.Check(t, printConfig(&out, s))
	if want := "\nbulk.threshold = 7\n"; !strings.Contains(out.String(), want) || strings.Contains(out.String(), "secret") {
		t.Errorf("no %q, or a password, in\n%s", want, out.String())
	}
}

// The printed commands end with a listing, however often they are repeated: the newest word
// about the sample is a report.
func TestNextEndsInAListing(t *testing.T) {
	var out bytes.Buffer
	greet(&out, &settings.Settings{Config: config.Default(), Data: "/data"}, true)
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
