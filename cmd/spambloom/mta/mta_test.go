package mta

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestSplitMilters(t *testing.T) {
	for list, want := range map[string][]string{
		"":    nil,
		"a:1": {"a:1"},
		"{ unix:s, default_action=accept }, inet:h:1 unix:b":             {"{ unix:s, default_action=accept }", "inet:h:1", "unix:b"},
		"inet:h:1,{unix:s,connect_timeout=1s,default_action = tempfail}": {"inet:h:1", "{unix:s,connect_timeout=1s,default_action = tempfail}"},
		"{ unbalanced": {}, // no end: no entry
	} {
		got := splitMilters(list)
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
	if m := parseMilter("{unix:s,connect_timeout=1s,default_action = tempfail}", "accept"); m.Spec != "unix:s" || m.DefaultAction != "tempfail" {
		t.Errorf("%+v", m)
	}
}

// The real postconf reads the folder of an instance.
func TestReadPostfix(t *testing.T) {
	testenv.Servers(t)
	_, err := exec.LookPath("postconf")
	testenv.Need(t, err == nil, "Postfix")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.cf":   "compatibility_level = 3.6\nqueue_directory = /q\nmail_owner = postfix\nmilter_default_action = tempfail\nsmtpd_milters = { unix:spambloom/milter.sock,\n  default_action=accept }, unix:/abs/s, inet:127.0.0.1:8891\n",
		"master.cf": "smtp inet n - y - - smtpd\n",
	} {
		testenv.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	got, err := ReadPostfix(t.Context(), dir)
	want := &Server{Name: "Postfix", File: filepath.Join(dir, "main.cf"), User: "postfix", Chroot: "/q", Queue: "/q", Sessions: 100, Milters: []Milter{
		{"unix:spambloom/milter.sock", "/q/spambloom/milter.sock", "accept"},
		{"unix:/abs/s", "/q/abs/s", "tempfail"},
		{"inet:127.0.0.1:8891", "", "tempfail"},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Each service of smtpd that asks milters has sessions of its own.
func TestSessions(t *testing.T) {
	for services, want := range map[string]int{
		"smtp inet n - y - - smtpd\n": 100,
		"smtp inet n - y - - smtpd\nsubmission inet n - y - - smtpd -o syslog_name=x\nsubmissions inet n - y - 20 smtpd\n":                          220,
		"smtp inet n - y - 1 postscreen\nsmtpd pass - - y - 7 smtpd\npickup unix n - y 60 1 pickup\n":                                               7,
		"smtp inet n - y - 9 smtpd\nback inet n - y - - smtpd -o receive_override_options=no_milters\nown inet n - y - - smtpd -o smtpd_milters=\n": 9,
		"smtp inet n - y - 9 smtpd\nother inet n - y - 0 smtpd -o smtpd_milters=inet:b:1\n":                                                         NoLimit,
		"smtp inet n - y - 1 postscreen\n": 0,
	} {
		if got := sessions(services, "100"); got != want {
			t.Errorf("%q: %d, want %d", services, got, want)
		}
	}
}

// Settings in master.cf take precedence, also behind postscreen.
func TestMasterOverrides(t *testing.T) {
	testenv.Servers(t)
	_, err := exec.LookPath("postconf")
	testenv.Need(t, err == nil, "Postfix")
	for master, want := range map[string]Server{
		"smtp inet n - y - - smtpd -o smtpd_milters=inet:b:2\n":                                                   {Milters: []Milter{{"inet:b:2", "", "tempfail"}}, Override: "smtp/inet has -o smtpd_milters=inet:b:2", Chroot: "/q"},
		"smtp inet n - n - 1 postscreen\nsmtpd pass - - y - - smtpd -o receive_override_options=no_milters\n":     {Override: "smtpd/pass has -o receive_override_options=no_milters", Chroot: "/q"},
		"smtp inet n - n - - smtpd -o receive_override_options=no_address_mappings\nother inet n - y - - smtpd\n": {Milters: []Milter{{"inet:a:1", "", "tempfail"}}},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"main.cf": "compatibility_level = 3.6\nqueue_directory = /q\nmilter_default_action = tempfail\nsmtpd_milters = inet:a:1\n", "master.cf": master} {
			testenv.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		got, err := ReadPostfix(t.Context(), dir)
		if err != nil || !reflect.DeepEqual(got.Milters, want.Milters) || got.Override != want.Override || got.Chroot != want.Chroot {
			t.Errorf("%s: %+v, %v", master, got, err)
		}
	}
}

func TestReadSendmail(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sendmail.cf")
	text := "O InputMailFilters=spambloom, opendkim\nXopendkim, S=inet:8891@localhost, F=T\nXspambloom, S=unix:/run/spambloom/milter.sock, T=C:10s;E:5m\nXunused, S=inet:1@localhost\n"
	testenv.Check(t, os.WriteFile(path, []byte(text), 0o644))
	got, err := ReadSendmail(dir)
	want := []Milter{{"unix:/run/spambloom/milter.sock", "/run/spambloom/milter.sock", "accept"}, {"inet:8891@localhost", "", "tempfail"}}
	if err != nil || !reflect.DeepEqual(got.Milters, want) || got.Sessions != NoLimit {
		t.Errorf("%+v, %v", got, err)
	}
	testenv.Check(t, os.WriteFile(path, []byte("#O MaxDaemonChildren=7\nO MaxDaemonChildren=200\n"), 0o644))
	if got, err := ReadSendmail(dir); err != nil || got.Sessions != 200 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ReadSendmail(dir + "x"); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// The daemon is found among the milters by its socket, also from within a chroot.
func TestFind(t *testing.T) {
	for m, want := range map[Milter]int{
		{Spec: "unix:x/m.sock", Path: "/q/x/m.sock"}:                           1,
		{Spec: "inet:localhost:8899"}:                                          1,
		{Spec: "inet:localhost:8891"}:                                          -1,
		{Spec: "unix:other", Path: "/q/other"}:                                 -1,
		{Spec: "unix:spambloom/milter.sock", Path: "/q/spambloom/milter.sock"}: 1, // systemd's
	} {
		s := Server{Milters: []Milter{{Spec: "inet:localhost:11332"}, m}}
		if got := s.Find([]string{"unix:/q/x/m.sock", "inet:8899@127.0.0.1"}); got != want {
			t.Errorf("%+v: %d", m, got)
		}
	}
}
