package config

import (
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

const policies = `[[policy]]
name = "desk"
recipients = ["Abuse@Example.org", "Jürgen@bücher.example"]
spam = "tag"
spam_phish = "quarantine"

[milter]
authserv_id = "mx1.example.org"
[reports]
classes = true
[[policy]]
name = "inbound"
domains = ["Example.NET", ".example.com", "localhost"]
listeners = ["unix:/run/spambloom/In.sock"]
bulk_threshold = 0
clean = "accept"

[[allow]]
name = "partner"
networks = ["192.0.2.0/24", "2001:db8::1"]
senders = ["Billing@Example.com", ".example.net"]
from = ["Example.com"]
list_ids = ["News.Example.org", "plain"]
recipients = ["bounce+x=y@example.org"]
listeners = ["submission"]
`

func TestPoliciesAndRules(t *testing.T) {
	c, err := parse("f", policies)
	testenv.Check(t, err)
	want := []Policy{
		{Name: "desk", Recipients: []string{"abuse@example.org", "jürgen@xn--bcher-kva.example"}, Spam: "tag", SpamPhish: "quarantine"},
		{Name: "inbound", Domains: []string{"example.net", ".example.com", "localhost"}, Listeners: []string{"unix:/run/spambloom/In.sock"}, Clean: "accept"},
	}
	if !reflect.DeepEqual(c.Policies, want) {
		t.Errorf("%+v", c.Policies)
	}
	rule := Allow{
		Name:       "partner",
		Networks:   []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::1/128")},
		Senders:    []string{"billing@example.com", ".example.net"},
		From:       []string{"example.com"},
		ListIDs:    []string{"news.example.org", "plain"},
		Recipients: []string{"bounce+x=y@example.org"},
		Listeners:  []string{"submission"},
	}
	if !reflect.DeepEqual(c.Allow, []Allow{rule}) {
		t.Errorf("%+v", c.Allow)
	}
	for got, want := range map[string]string{
		c.WherePolicy(0, "spam"):     "f:4: policy.spam",
		c.WherePolicy(1, "bulk"):     "f:11: policy",
		c.WhereAllow(0, "listeners"): "f:25: allow.listeners",
	} {
		if got != want {
			t.Errorf("is at %q, want %q", got, want)
		}
	}
}

// A running daemon applies changed policies and rules, and the log lists them without their
// addresses.
func TestPoliciesAreLive(t *testing.T) {
	c, err := parse("f", policies)
	testenv.Check(t, err)
	before := Default()
	before.Reports.Classes = true
	live, restart := c.Changed(before)
	if !slices.Equal(live, []string{"milter.authserv_id", "policy", "allow"}) || restart != nil {
		t.Errorf("live %v, restart %v", live, restart)
	}
	changed, err := parse("f", strings.ReplaceAll(strings.Replace(policies, ".example.net", ".example.com", 1), "partner", "friend"))
	testenv.Check(t, err)
	if live, _ := changed.Changed(c); !slices.Equal(live, []string{"allow"}) {
		t.Errorf("live %v", live)
	}
	line := slog.GroupValue(c.Effective()...).String()
	if !strings.Contains(line, "policy=desk, inbound") || !strings.Contains(line, "allow=partner") || strings.Contains(line, "abuse@") {
		t.Error(line)
	}
}

// Values at the limits are valid.
func TestKeysThatJustAgree(t *testing.T) {
	for _, text := range []string{
		"[milter]\nmax_message = \"20MiB\"\nmax_memory = \"20MiB\"\n",
		"[bulk]\ngreylist = true\ngreylist_from = 19\n",
		"[bulk]\ngreylist = true\ngreylist_from = 20\n[[policy]]\nname = \"p\"\ndomains = [\"a.example\"]\nbulk_threshold = 21\n",
		"[bulk]\ngreylist_from = 50\n", // unused
		"[reports]\nclasses = true\n[actions]\nspam_scam = \"reject\"\n",
	} {
		if _, err := parse("f", text); err != nil {
			t.Errorf("%s%v", text, err)
		}
	}
}

// A running daemon applies every key of the milter, of policies and of rules, except those
// of its sockets, which are fixed at the start.
func TestLiveKeys(t *testing.T) {
	var restart []string
	for _, k := range keys {
		if (k.section == "milter" || isList(k.section) && k.section != peerSection && k.section != trapSection) && !k.live {
			restart = append(restart, k.path())
		}
	}
	if !slices.Equal(restart, []string{"milter.listen", "milter.group", "milter.socket_mode"}) {
		t.Error(restart)
	}
}

func TestSocketMode(t *testing.T) {
	for in, want := range map[string]string{"0660": "0660", "666": "0666", "0600": "0600", "0777": "0777"} {
		c := Default()
		if err := c.Override("milter.socket_mode", "test", in); err != nil || lookup("milter.socket_mode").kind.get(c) != want {
			t.Errorf("%s: %v, %v", in, lookup("milter.socket_mode").kind.get(c), err)
		}
	}
	for _, in := range []string{"", "1660", "0440", "0888", "-660", "+660", "0o660", "06 60", "rw-rw----"} {
		if err := Default().Override("milter.socket_mode", "test", in); err == nil {
			t.Errorf("%q is accepted", in)
		}
	}
}
