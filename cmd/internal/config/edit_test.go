package config_test

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/testenv"
)

const peerKey = "ed25519:GX9rI+FshTLGq8g4+s1eqmN5t8KA7pUzX4AZCV1GW/g="

// A value replaces the old one, stands below its documentation, or in a new section. All
// else remains as it is.
func TestEdit(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":        {"", "[redis]\nurl = \"redis://h:1\"\n"},
		"no section":   {"# mine\n[site]\nname = \"mx1\"\n", "# mine\n[site]\nname = \"mx1\"\n\n[redis]\nurl = \"redis://h:1\"\n"},
		"empty one":    {"[redis] # soon\n[site]\n", "[redis] # soon\nurl = \"redis://h:1\"\n[site]\n"},
		"set":          {"[redis]\n  url = \"redis://old\" # old\n[http]\n", "[redis]\nurl = \"redis://h:1\"\n[http]\n"},
		"documented":   {"[redis]\n\n# The URL.\n#url = \"x\"\n\n# CA.\n#ca = \"y\"\n", "[redis]\n\n# The URL.\n#url = \"x\"\nurl = \"redis://h:1\"\n\n# CA.\n#ca = \"y\"\n"},
		"after a peer": {"[[peer]]\nname = \"b\"\nkey = \"" + peerKey + "\"", "[[peer]]\nname = \"b\"\nkey = \"" + peerKey + "\"\n\n[redis]\nurl = \"redis://h:1\"\n"},
	} {
		got, err := config.Edit("f", c.text, []config.Change{{Key: "redis.url", Value: "redis://h:1"}}, nil)
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	all, err := config.Edit("f", config.Example(), []config.Change{
		{Key: "redis.url", Value: "redis://h:1"}, {Key: "reports.keep", Value: int64(7)}, {Key: "reports.max_error_per_mail", Value: 1e-7},
		{Key: "reports.period", Value: "24h0m0s"}, {Key: "site.federation_key", Value: "/etc/f.key"},
	}, []config.Peer{{Name: "mx2", Key: peerKey}, {Name: "mx3", Key: strings.Replace(peerKey, "GX", "GY", 1), Trust: "vote"}})
	testenv.Check(t, err)
	for line := range strings.Lines(config.Example()) {
		if !strings.Contains(all, line) {
			t.Errorf("lost %q", line)
		}
	}
	if !strings.HasSuffix(all, "trust = \"vote\"\n") {
		t.Error(all[len(all)-200:])
	}
}

// A file of another form is refused, not spoilt. No error contains a password.
func TestEditRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"inline table": "redis = {url = \"redis://:geheim@old\"}\n",
		"dotted key":   "redis.url = \"redis://:geheim@old\"\n",
		"a text block": "[site]\nname = \"\"\"\\\n[redis]\\\nurl = 1\"\"\"\n",
		"invalid":      "[redis]\nurl = \n",
	} {
		got, err := config.Edit("f", text, []config.Change{{Key: "redis.url", Value: "redis://:geheim@h:1"}}, nil)
		if err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	twice := []config.Peer{{Name: "b", Key: peerKey}}
	if _, err := config.Edit("f", "[[peer]]\nname = \"b\"\nkey = \""+peerKey+"\"\n", nil, twice); err == nil {
		t.Error("a peer was added twice")
	}
	if _, err := config.Edit("f", "", []config.Change{{Key: "reports.keep", Value: int64(0)}}, nil); err == nil {
		t.Error("an invalid value was written")
	}
}
