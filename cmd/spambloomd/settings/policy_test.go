package settings

import (
	"net/netip"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/milter/policy"
)

// configured returns the settings of a file with that text.
func configured(t *testing.T, text string) (*Settings, error) {
	t.Helper()
	dir := t.TempDir()
	f := Flags{Config: harness.Write(t, filepath.Join(dir, "spambloom.toml"), text), Data: filepath.Join(dir, "state")}
	return New(f, func(string) bool { return false })
}

// Each key for single messages sets its option of the milter, and no other.
func TestKeysReachTheMilter(t *testing.T) {
	const classes = "reports.classes = true\n" // otherwise no action may be configured for a class
	class := func(c bloomdb.Class) func(*milter.Options) {
		return func(o *milter.Options) { o.Policy.Classes = map[bloomdb.Class]policy.Action{c: "reject"} }
	}
	for _, c := range []struct {
		text   string
		change func(o *milter.Options)
	}{
		{`milter.local_networks = ["192.0.2.0/24"]`, func(o *milter.Options) { o.LocalNetworks = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} }},
		{`milter.skip_authenticated = false`, func(o *milter.Options) { o.SkipAuthenticated = false }},
		{`milter.spam_flag = "X-Spam-Flag"`, func(o *milter.Options) { o.SpamFlag = "X-Spam-Flag" }},
		{`milter.max_message = "1MiB"`, func(o *milter.Options) { o.MaxMessage = 1 << 20 }},
		{`milter.oversize = "skip"`, func(o *milter.Options) { o.SkipOversize = true }},
		{`milter.authserv_id = "mx1.example.org"`, func(o *milter.Options) { o.AuthservID = "mx1.example.org" }},
		{`milter.max_connections = 10`, func(o *milter.Options) { o.MaxConnections = 10 }},
		{`milter.max_connections_per_client = 10`, func(o *milter.Options) { o.MaxConnectionsPerClient = 10 }},
		{`milter.idle_timeout = "61s"`, func(o *milter.Options) { o.IdleTimeout = 61 * time.Second }},
		{`milter.content_timeout = "61s"`, func(o *milter.Options) { o.ContentTimeout = 61 * time.Second }},
		{`milter.write_timeout = "61s"`, func(o *milter.Options) { o.WriteTimeout = 61 * time.Second }},
		{`milter.judge_timeout = "61s"`, func(o *milter.Options) { o.JudgeTimeout = 61 * time.Second }},
		{`milter.connection_timeout = "61s"`, func(o *milter.Options) { o.ConnectionTimeout = 61 * time.Second }},
		{`milter.max_memory = "100MiB"`, func(o *milter.Options) { o.MaxMemory = 100 << 20 }},
		{`milter.over_memory = "head"`, func(o *milter.Options) { o.SpillFolder = "" }},
		{`actions.spam = "reject"`, func(o *milter.Options) { o.Policy.Spam = "reject" }},
		{`actions.bulk = "accept"`, func(o *milter.Options) { o.Policy.Bulk = "accept" }},
		{`actions.clean = "accept"`, func(o *milter.Options) { o.Policy.Clean = "accept" }},
		{`actions.spam_phish = "reject"`, class(bloomdb.ClassPhish)},
		{`actions.spam_scam = "reject"`, class(bloomdb.ClassScam)},
		{`actions.spam_malware = "reject"`, class(bloomdb.ClassMalware)},
		{`actions.spam_bulk = "reject"`, class(bloomdb.ClassBulk)},
		{`bulk.threshold = 30`, func(o *milter.Options) { o.Policy.BulkThreshold = 30 }},
		{`bulk.count = "messages"`, func(o *milter.Options) { o.CountRecipients = false }},
		{`bulk.count_networks = ["192.0.2.0/24"]`, func(o *milter.Options) { o.CountNetworks = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} }},
		{`bulk.greylist_from = 6`, func(*milter.Options) {}}, // without greylist
		{"bulk.greylist = true\nbulk.greylist_from = 6", func(o *milter.Options) { o.GreylistFrom = 6 }},
	} {
		before, err := configured(t, classes)
		testenv.Check(t, err)
		after, err := configured(t, classes+c.text+"\n")
		if err != nil {
			t.Error(err)
			continue
		}
		before.Data, after.Data = "/state", "/state"
		want := before.MilterOptions("mx1", nil)
		c.change(&want)
		if got := after.MilterOptions("mx1", nil); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %+v\nwant %+v", c.text, got, want)
		}
	}
}

func TestFailureActions(t *testing.T) {
	for text, want := range map[string][3]bool{ // overload, error, deadline
		"":                            {},
		"on_failure = \"tempfail\"\n": {true, true, true},
		"on_failure = \"tempfail\"\non_error = \"accept\"\n": {true, false, true},
		"on_overload = \"tempfail\"\n":                       {true, false, false},
		"on_deadline = \"tempfail\"\n":                       {false, false, true},
	} {
		s, err := configured(t, "[milter]\n"+text)
		testenv.Check(t, err)
		if got := s.MilterOptions("mx1", nil).Tempfail; got.Overload != want[0] || got.Error != want[1] || got.Deadline != want[2] {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// The action of a policy for spam applies to the classes that it does not name, whatever
// [actions] sets for them.
func TestPolicyTables(t *testing.T) {
	s, err := configured(t, `[reports]
classes = true
[actions]
spam = "quarantine"
spam_phish = "discard"
[[policy]]
name = "desk"
recipients = ["abuse@example.org"]
spam = "tag"
spam_malware = "reject"
[[policy]]
name = "lists"
listeners = ["inet:8899@127.0.0.1"]
bulk = "accept"
bulk_threshold = 1000
[milter]
authserv_id = "mx1"
[[allow]]
name = "partner"
networks = ["192.0.2.0/24"]
senders = ["example.net"]
from = ["from.example"]
list_ids = ["list.example"]
recipients = ["to.example"]
listeners = ["inet:8899@127.0.0.1"]
`)
	testenv.Check(t, err)
	s.Whiteclnt = []policy.Allow{{Name: "whiteclnt"}} // rules of the configuration come first
	o := s.MilterOptions("mx1", nil)
	if want := (policy.Policy{
		Spam: "quarantine", Bulk: "tag", Clean: "tag", BulkThreshold: 20,
		Classes: map[bloomdb.Class]policy.Action{bloomdb.ClassPhish: "discard"},
	}); !reflect.DeepEqual(o.Policy, want) {
		t.Errorf("%+v", o.Policy)
	}
	want := []policy.Override{
		{Name: "desk", Recipients: []string{"abuse@example.org"}, Policy: policy.Policy{Spam: "tag", Classes: map[bloomdb.Class]policy.Action{
			bloomdb.ClassPhish: "tag", bloomdb.ClassScam: "tag", bloomdb.ClassMalware: "reject", bloomdb.ClassBulk: "tag",
		}}},
		{Name: "lists", Listeners: []string{"inet:8899@127.0.0.1"}, Policy: policy.Policy{
			Bulk: "accept", BulkThreshold: 1000, Classes: map[bloomdb.Class]policy.Action{},
		}},
	}
	if !reflect.DeepEqual(o.Overrides, want) {
		t.Errorf("%+v\nwant %+v", o.Overrides, want)
	}
	rule := policy.Allow{
		Name: "partner", Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, Senders: []string{"example.net"}, From: []string{"from.example"},
		ListIDs: []string{"list.example"}, Recipients: []string{"to.example"}, Listeners: []string{"inet:8899@127.0.0.1"},
	}
	if !reflect.DeepEqual(o.Allow, []policy.Allow{rule, {Name: "whiteclnt"}}) {
		t.Errorf("%+v", o.Allow)
	}
}

// A duplicate address is not reported as in use by another process.
func TestAddressesTwice(t *testing.T) {
	for text, want := range map[string]string{
		"milter.listen = [\"inet:8899@127.0.0.1\", \"inet:127.0.0.1:8899\"]\n":       `:1: milter.listen: "inet:127.0.0.1:8899" is already an address of milter.listen`,
		"http.listen = \"127.0.0.1:8899\"\n":                                         `:1: http.listen: "127.0.0.1:8899" is already an address of milter.listen`,
		"milter.listen = [\"unix:/run/a.sock\"]\ncontrol.listen = \"/run/a.sock\"\n": `:2: control.listen: "/run/a.sock" is already an address of milter.listen`,
		"milter.listen = [\"inet:0@127.0.0.1\", \"inet:0@127.0.0.1\"]\n":             "",
		"milter.listen = [\"inet:8899@127.0.0.1\", \"inet:8899@127.0.0.2\"]\n":       "",
	} {
		_, err := configured(t, text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%s%v, want %q", text, err, want)
		}
	}
}

// A listener is named as in milter.listen. The names of systemd's sockets are known only to
// systemd.
func TestListenersOfPolicies(t *testing.T) {
	const text = `[[policy]]
name = "submission"
listeners = ["submission"]
spam = "reject"
[[allow]]
name = "inside"
listeners = [
  "inet:8899@127.0.0.1", "inet:8890@127.0.0.1"]
`
	_, err := configured(t, text)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`:3: policy.listeners: "submission" is not an address of milter.listen or spamd.listen; allowed: ["inet:8899@127.0.0.1"]`,
		`:7: allow.listeners: "inet:8890@127.0.0.1" is not an address of milter.listen`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
	if n := strings.Count(err.Error(), "\n"); n != 1 {
		t.Error(err)
	}
	t.Setenv("LISTEN_FDS", "1")
	s, err := configured(t, text)
	testenv.Check(t, err)
	t.Setenv("LISTEN_FDS", "") // as after taking them over
	if _, err := s.Reload(); err != nil {
		t.Error("at a reload:", err)
	}
}

// A valid configuration that loses mail, or that leaves all mail unjudged, gives a warning with its line.
func TestWarnings(t *testing.T) {
	for text, want := range map[string]string{
		"actions.clean = \"discard\"": `:1: actions.clean: "discard" is the action for all mail that is neither spam nor bulk`,
		"actions.clean = \"reject\"":  `:1: actions.clean: "reject" is`,
		"[[policy]]\nname = \"a\"\nrecipients = [\"a@example.org\"]\nclean = \"reject\"": ":4: policy.clean: ",
		`milter.local_networks = ["10.0.0.0/8", "0.0.0.0/0"]`:                            ":1: milter.local_networks: 0.0.0.0/0 is larger than any private network",
		`milter.local_networks = ["::ffff:0.0.0.0/96"]`:                                  "::ffff:0.0.0.0/96 is larger",
		`milter.local_networks = ["::/0"]`:                                               "::/0 is larger",
		`milter.local_networks = ["0.0.0.0/1"]`:                                          "0.0.0.0/1 is larger",
		`milter.local_networks = ["127.0.0.0/8", "10.0.0.0/8", "fc00::/7", "::1/128"]`:   "",
		"actions.clean = \"accept\"":                                                     "",
	} {
		s, err := configured(t, text)
		testenv.Check(t, err)
		var got string
		for _, w := range s.Warnings() {
			got += w.Error() + "\n"
		}
		if want == "" && got != "" || strings.Count(got, "\n") > 1 || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
