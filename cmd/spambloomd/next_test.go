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
