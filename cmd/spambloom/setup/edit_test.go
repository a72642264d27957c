package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/spambloom/change"
	"github.com/spambloom/spambloom/cmd/spambloom/mta"
	"github.com/spambloom/spambloom/cmd/testenv"
)

const postfixEntry = "{ unix:spambloom/milter.sock, default_action=accept }"

// The daemon becomes the first milter of the line in effect. Taking it back restores the file.
func TestEditPostfix(t *testing.T) {
	others := []mta.Milter{{Spec: "inet:a:1"}}
	for name, c := range map[string]struct {
		text    string
		milters []mta.Milter
		want    string
	}{
		"none":           {"a = b\n", nil, "a = b\nsmtpd_milters = " + postfixEntry + "\n"},
		"no last break":  {"a = b", nil, "a = b\nsmtpd_milters = " + postfixEntry + "\n"},
		"another":        {"smtpd_milters = inet:a:1\nc = d\n", others, "smtpd_milters = " + postfixEntry + ", inet:a:1\nc = d\n"},
		"continued":      {"smtpd_milters =\n  inet:a:1\n", others, "smtpd_milters =" + postfixEntry + ", \n  inet:a:1\n"},
		"comment below":  {"a = b\nsmtpd_milters = \n#  inet:o:1\n\n  inet:a:1\n", others, "a = b\nsmtpd_milters = " + postfixEntry + ", \n#  inet:o:1\n\n  inet:a:1\n"},
		"comment, twice": {"#smtpd_milters = x\nsmtpd_milters = old\nsmtpd_milters=inet:a:1\n", others, "#smtpd_milters = x\nsmtpd_milters = old\nsmtpd_milters=" + postfixEntry + ", inet:a:1\n"},
		"other names":    {"non_smtpd_milters = x\nsmtpd_milters_x = y\n", nil, "non_smtpd_milters = x\nsmtpd_milters_x = y\nsmtpd_milters = " + postfixEntry + "\n"},
	} {
		m := &machine{server: &mta.Server{Milters: c.milters}}
		got, err := m.editPostfix([]byte(c.text), "unix:spambloom/milter.sock")
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
		m.Remove = true
		back, err := m.editPostfix(got, "unix:spambloom/milter.sock")
		if err != nil || string(back) != withBreak(c.text) {
			t.Errorf("%s, taken back: %v\n%q", name, err, back)
		}
	}
}

func TestEditSendmail(t *testing.T) {
	const line = "(`spambloom', `S=unix:/run/s, T=C:10s;S:30s;R:30s;E:5m')dnl\n"
	const limit = "define(`confMAX_DAEMON_CHILDREN', `200')dnl spambloom takes 400\n"
	for name, c := range map[string]struct{ text, want string }{
		"no filter": {"A(`b')dnl\nMAILER(`local')dnl\n", "A(`b')dnl\n" + limit + "INPUT_MAIL_FILTER" + line + "MAILER(`local')dnl\n"},
		"another":   {"INPUT_MAIL_FILTER(`o', `S=x')dnl\nMAILER_DEFINITIONS\nMAILER(`local')dnl\n", limit + "INPUT_MAIL_FILTER" + line + "INPUT_MAIL_FILTER(`o', `S=x')dnl\nMAILER_DEFINITIONS\nMAILER(`local')dnl\n"},
		"a list": {"MAIL_FILTER(`o', `S=x')dnl\ndefine(`confINPUT_MAIL_FILTERS', `o')dnl\nMAILER(`local')dnl\n",
			limit + "MAIL_FILTER" + line + "MAIL_FILTER(`o', `S=x')dnl\ndefine(`confINPUT_MAIL_FILTERS', `spambloom, o')dnl\nMAILER(`local')dnl\n"},
		"a limit": {"define(`confMAX_DAEMON_CHILDREN', `40')dnl\nMAILER(`local')dnl\n",
			"define(`confMAX_DAEMON_CHILDREN', `40')dnl\nINPUT_MAIL_FILTER" + line + "MAILER(`local')dnl\n"},
		"a limit in a comment": {"dnl define(`confMAX_DAEMON_CHILDREN', `40')dnl\nMAILER(`local')dnl\n",
			"dnl define(`confMAX_DAEMON_CHILDREN', `40')dnl\n" + limit + "INPUT_MAIL_FILTER" + line + "MAILER(`local')dnl\n"},
	} {
		m := &machine{server: &mta.Server{File: "/etc/mail/sendmail.mc"}}
		got, err := m.editSendmail([]byte(c.text), "unix:/run/s")
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
		m.Remove = true
		if back, err := m.editSendmail(got, "unix:/run/s"); err != nil || string(back) != c.text {
			t.Errorf("%s, taken back: %v\n%s", name, err, back)
		}
	}
}

// TestSetupKilledBetweenSendmailFiles is the attack "setup killed before make": the next run makes
// sendmail.cf, without a second definition of the filter.
func TestSetupKilledBetweenSendmailFiles(t *testing.T) {
	m := &machine{config: config.Default(), server: &mta.Server{Name: "Sendmail", File: filepath.Join(t.TempDir(), "sendmail.mc")}}
	if err := os.WriteFile(m.server.File, []byte("MAILER(`local')dnl\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, remove := range []bool{false, true} {
		m.Remove = remove
		first, err := m.serverSteps()
		if err == nil {
			err = first[0].do(t.Context()) // writes sendmail.mc
		}
		if err != nil {
			t.Fatal(err)
		}
		second, err := m.serverSteps()
		if err != nil || second.String() != first[1:].String() {
			t.Errorf("remove %t: %v, the second run does:\n%s", remove, err, second)
		}
		m.server.Milters = []mta.Milter{{Path: "/run/spambloom/milter.sock"}} // as in the new sendmail.cf
	}
}

// TestSetupKeepsAskedAddress is the attack "setup where Postfix asks the default address over TCP",
// as contrib/postfix.md and beside.md have it: the daemon does not leave that address.
func TestSetupKeepsAskedAddress(t *testing.T) {
	for spec, want := range map[string]string{"inet:127.0.0.1:8899": "inet:127.0.0.1:8899", "inet:127.0.0.1:11332": "unix:/spool/spambloom/milter.sock"} {
		m := &machine{config: config.Default(), server: &mta.Server{Queue: "/spool", Milters: []mta.Milter{{Spec: "inet:a:1"}, {Spec: spec}}}}
		if got, isSet := m.listen(); got != want || isSet != (got == spec) {
			t.Errorf("%s: %s %t", spec, got, isSet)
		}
	}
}

// TestRemoveOwnEntry is the attack "setup --remove where an administrator wrote the entry": it is
// refused before the daemon leaves the socket, because Postfix' default is to refuse mail then.
func TestRemoveOwnEntry(t *testing.T) {
	for _, entry := range []string{"unix:spambloom/milter.sock", "{ unix:spambloom/milter.sock, default_action=tempfail }"} {
		m := &machine{Options: Options{Remove: true}, config: config.Default(), server: &mta.Server{
			Name: "Postfix", File: filepath.Join(t.TempDir(), "main.cf"), Queue: "/spool",
			Milters: []mta.Milter{{Spec: "unix:spambloom/milter.sock", Path: "/spool/spambloom/milter.sock"}},
		}}
		testenv.Check(t, os.WriteFile(m.server.File, []byte("smtpd_milters = "+entry+"\n"), 0o600))
		if p, err := m.serverSteps(); err == nil || !strings.Contains(err.Error(), "setup did not write: unix:spambloom/milter.sock") {
			t.Errorf("%s: %v\n%s", entry, err, p)
		}
	}
}

// TestStoreKeepsOthersChange is the attack "main.cf changed while setup restarts the daemon".
func TestStoreKeepsOthersChange(t *testing.T) {
	f, err := change.Read(filepath.Join(t.TempDir(), "main.cf"))
	testenv.Check(t, err)
	f.New = []byte("a = b\n")
	testenv.Check(t, store(f))
	f, err = change.Read(f.Path)
	testenv.Check(t, err)
	f.New = []byte("a = c\n")
	testenv.Check(t, os.WriteFile(f.Path, []byte("a = b\nd = e\n"), 0o600))
	err = store(f)
	if text, _ := os.ReadFile(f.Path); err == nil || string(text) != "a = b\nd = e\n" {
		t.Errorf("%v, and the file has %q", err, text)
	}
}

// Rules of an administrator remain, those of an earlier version are replaced.
func TestEditRules(t *testing.T) {
	m := &machine{}
	for _, text := range []string{"", "OTHER { }\n"} {
		added, err := m.editRules(text, "NEW\n", "f")
		if err != nil || string(added) != text+begin+"NEW\n"+end {
			t.Fatalf("%v %q", err, added)
		}
		changed, err := m.editRules(string(added)+"LAST\n", "NEWER\n", "f")
		if err != nil || string(changed) != text+begin+"NEWER\n"+end+"LAST\n" {
			t.Errorf("%v %q", err, changed)
		}
		remove := &machine{Options: Options{Remove: true}}
		if back, err := remove.editRules(string(added), "", "f"); err != nil || string(back) != text {
			t.Errorf("%v %q", err, back)
		}
	}
	if got, err := m.editRules("SPAMBLOOM_SAME { }\n", "NEW\n", "f"); err != nil || string(got) != "SPAMBLOOM_SAME { }\n" {
		t.Errorf("an administrator's rules: %v %q", err, got)
	}
	if _, err := m.editRules(begin, "NEW\n", "f"); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("no end: %v", err)
	}
}

// The header of the right mail is found, in an mbox and folded.
func TestHeaderIn(t *testing.T) {
	const mbox = "From x\nX-Spambloom: spam; a\nMessage-ID: <1@h>\n\ntext\n\nFrom x\nX-Spambloom: clean;\n kind=text\nSubject: s\nMessage-ID: <2@h>\n\ntext\n\nFrom x\nMessage-ID: <3@h>\n\n"
	for id, want := range map[string]string{"1": "X-Spambloom: spam; a", "2": "X-Spambloom: clean; kind=text", "3": "", "4": ""} {
		if got := headerIn([]byte(mbox), id); got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
}

// The rules are those of the page, which are tested with the real programs.
func TestRulesOfPage(t *testing.T) {
	page, err := os.ReadFile("../../../contrib/beside.md")
	testenv.Check(t, err)
	for name, rules := range map[string]string{"rspamd": rspamdRules, "SpamAssassin": spamAssassinRules} {
		if !strings.Contains(string(page), "```\n"+rules+"```\n") {
			t.Errorf("contrib/beside.md has other rules for %s", name)
		}
	}
}
