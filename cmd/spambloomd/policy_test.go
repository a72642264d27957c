package main

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/milter"
)

// configured are the settings of a file with that text.
func configured(t *testing.T, text string) (*settings, error) {
	t.Helper()
	dir := t.TempDir()
	f := flags{config: write(t, filepath.Join(dir, "spambloom.toml"), text), data: filepath.Join(dir, "state")}
	return newSettings(f, func(string) bool { return false })
}

// Each key that is about single messages reaches the milter.
func TestKeysReachTheMilter(t *testing.T) {
	const classes = "reports.classes = true\n" // or no action may be for one
	before, err := configured(t, classes)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"milter.local_networks": `["192.0.2.0/24"]`, "milter.skip_authenticated": "false",
		"milter.max_message": `"1MiB"`, "milter.oversize": `"skip"`, "milter.on_failure": `"tempfail"`,
		"milter.on_overload": `"tempfail"`, "milter.on_error": `"tempfail"`, "milter.on_deadline": `"tempfail"`,
		"milter.authserv_id": `"mx1.example.org"`, "milter.max_connections": "10", "milter.max_connections_per_client": "10",
		"milter.idle_timeout": `"1h"`, "milter.content_timeout": `"1m"`, "milter.write_timeout": `"1m"`,
		"milter.judge_timeout": `"1m"`, "milter.connection_timeout": `"1h"`, "milter.max_memory": `"100MiB"`,
		"milter.over_memory": `"spill"`,
		"actions.spam":       `"reject"`, "actions.bulk": `"accept"`, "actions.clean": `"accept"`,
		"actions.spam_phish": `"reject"`, "actions.spam_scam": `"reject"`, "actions.spam_malware": `"reject"`, "actions.spam_bulk": `"reject"`,
		"bulk.threshold": "30", "bulk.count": `"messages"`, "bulk.greylist": "true",
		"policy": `[{name = "p", domains = ["example.org"], clean = "accept"}]`,
		"allow":  `[{name = "a", list_ids = ["news.example.org"]}]`,
	} {
		after, err := configured(t, fmt.Sprintf("%s%s = %s\n", classes, key, value))
		if err != nil {
			t.Error(err)
			continue
		}
		a, b := before.milterOptions("mx1", nil), after.milterOptions("mx1", nil)
		if reflect.DeepEqual(a, b) {
			t.Errorf("%s = %s changes nothing", key, value)
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
		if err != nil {
			t.Fatal(err)
		}
		if got := s.milterOptions("mx1", nil).Tempfail; got.Overload != want[0] || got.Error != want[1] || got.Deadline != want[2] {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// What a policy says of spam holds for the classes that it does not name, whatever
// [actions] says of them.
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
[[allow]]
name = "partner"
networks = ["192.0.2.0/24"]
senders = ["example.net"]
`)
	if err != nil {
		t.Fatal(err)
	}
	o := s.milterOptions("mx1", nil)
	if want := (milter.Policy{
		Spam: "quarantine", Bulk: "tag", Clean: "tag", BulkThreshold: 20,
		Classes: map[bloomdb.Class]milter.Action{bloomdb.ClassPhish: "discard"},
	}); !reflect.DeepEqual(o.Policy, want) {
		t.Errorf("%+v", o.Policy)
	}
	want := []milter.Override{
		{Name: "desk", Recipients: []string{"abuse@example.org"}, Policy: milter.Policy{Spam: "tag", Classes: map[bloomdb.Class]milter.Action{
			bloomdb.ClassPhish: "tag", bloomdb.ClassScam: "tag", bloomdb.ClassMalware: "reject", bloomdb.ClassBulk: "tag",
		}}},
		{Name: "lists", Listeners: []string{"inet:8899@127.0.0.1"}, Policy: milter.Policy{
			Bulk: "accept", BulkThreshold: 1000, Classes: map[bloomdb.Class]milter.Action{},
		}},
	}
	if !reflect.DeepEqual(o.Overrides, want) {
		t.Errorf("%+v\nwant %+v", o.Overrides, want)
	}
	if len(o.Allow) != 1 || o.Allow[0].Name != "partner" || len(o.Allow[0].Networks) != 1 || o.Allow[0].Senders[0] != "example.net" {
		t.Errorf("%+v", o.Allow)
	}
}

// An address that stands there twice is no other process's fault.
func TestAddressesTwice(t *testing.T) {
	for text, want := range map[string]string{
		"milter.listen = [\"inet:8899@127.0.0.1\", \"inet:127.0.0.1:8899\"]\n":       `:1: milter.listen: "inet:127.0.0.1:8899" is an address of milter.listen already`,
		"http.listen = \"127.0.0.1:8899\"\n":                                         `:1: http.listen: "127.0.0.1:8899" is an address of milter.listen already`,
		"milter.listen = [\"unix:/run/a.sock\"]\ncontrol.listen = \"/run/a.sock\"\n": `:2: control.listen: "/run/a.sock" is an address of milter.listen already`,
		"milter.listen = [\"inet:0@127.0.0.1\", \"inet:0@127.0.0.1\"]\n":             "",
		"milter.listen = [\"inet:8899@127.0.0.1\", \"inet:8899@127.0.0.2\"]\n":       "",
	} {
		_, err := configured(t, text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%s%v, want %q", text, err, want)
		}
	}
}

// A listener is named as milter.listen has it; names of systemd's sockets are known
// to systemd only.
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
		`:3: policy.listeners: "submission" is no address of milter.listen; allowed: ["inet:8899@127.0.0.1"]`,
		`:7: allow.listeners: "inet:8890@127.0.0.1" is no address of milter.listen`,
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
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LISTEN_FDS", "") // as after they were taken
	if _, err := s.reload(); err != nil {
		t.Error("at a reload:", err)
	}
}
