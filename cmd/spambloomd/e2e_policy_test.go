package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gomilter "github.com/emersion/go-milter"
)

// guided starts a daemon with the configuration of a block of contrib/policy.md, whose
// ports are replaced by free ones.
func guided(t *testing.T, first string) *site {
	t.Helper()
	s := newSite(t, "one", filepath.Join(folder(t), "key"), "")
	s.configure(t, "[milter]\nlisten = [\"inet:0@127.0.0.1\"]\n", "[milter]\n")
	text := strings.Replace(pageBlock(t, "policy.md", first), "[reports]\nclasses = true\n", "", 1) // set below
	for _, port := range []string{"8899", "8890"} {
		text = strings.ReplaceAll(text, "inet:"+port, fmt.Sprintf("inet:%d", freePort(t)))
	}
	listen := regexp.MustCompile(`(?m)^listen = .*\n`).FindString(text)
	text = strings.Replace(text, listen, "", 1)
	if listen == "" {
		listen = "listen = [\"inet:0@127.0.0.1\"]\n"
	}
	milter, rest, ok := strings.Cut(text, "[milter]\n")
	if !ok {
		t.Fatalf("no [milter] in %s", text)
	}
	s.configure(t, "[milter]\n", "[milter]\n"+listen+regexp.MustCompile(`(?s)^[^\[]*`).FindString(rest))
	s.configure(t, "threshold = 50\n", "")
	s.configure(t, "[log]", milter+regexp.MustCompile(`(?s)\[.*`).FindString(rest)+"[log]")
	s.configure(t, "capacity = 100_000", "capacity = 100_000\nclasses = true")
	s.configure(t, "capacity = 10_000\n", "capacity = 10_000\ncount_networks = [\"127.0.0.0/8\"]\n")
	return s.start()
}

// to is a mail from a stranger.
func to(body string, recipients ...string) letter {
	l := letter{client: "203.0.113.7", queueID: "4QX", from: "<stranger@example.com>", body: body}
	for _, r := range recipients {
		l.to = append(l.to, "<"+r+">")
	}
	return l
}

// reportBody reports mail of that body.
func (s *site) reportBody(t *testing.T, body, class string) {
	t.Helper()
	path := write(t, filepath.Join(s.dir, class+".eml"), "\r\n"+body)
	if r := s.cli("report", "--class", class, path); r.code != 0 {
		t.Fatalf("%+v", r)
	}
}

// What the guide says about its example comes true: the table of recipients, and what
// the log says of several.
func TestPolicyGuideRecipients(t *testing.T) {
	t.Parallel()
	s := guided(t, "[milter]\nlisten")
	spam, malware, often := text(), text(), text()
	s.reportBody(t, spam, "other")
	s.reportBody(t, malware, "malware")
	w := dialWire(t, s.milter)
	many := to(often)
	for i := range 50 {
		many.to = append(many.to, fmt.Sprintf("<user%d@example.org>", i))
	}
	w.send(many)

	text := guidePage(t, "policy.md")
	rows := regexp.MustCompile(`(?m)^\| (\S+@\S+) \| (\w+) \| (\w+) \| (.+) \|$`).FindAllStringSubmatch(text, -1)
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		if got, _ := w.send(to(spam, row[1])); got != row[2] {
			t.Errorf("spam for %s: %s, the page says %s", row[1], got, row[2])
		}
		if got, _ := w.send(to(malware, row[1])); got != row[3] {
			t.Errorf("malware for %s: %s, the page says %s", row[1], got, row[3])
		}
		action, verdict := w.send(to(often, row[1]))
		if isBulk := strings.HasPrefix(verdict, "bulk;"); isBulk == (row[4] == "not bulk yet") || isBulk && action != row[4] {
			t.Errorf("bulk for %s: %s, %s; the page says %s", row[1], action, verdict, row[4])
		}
	}

	if got, verdict := w.send(to(spam, "user@example.org", "abuse@example.org")); got != "tag" || !strings.HasPrefix(verdict, "spam;") {
		t.Errorf("for both: %s, %s", got, verdict)
	}
	_, metrics := s.get("/metrics")
	for _, name := range regexp.MustCompile("`(spambloom_[a-z_]+)`").FindAllStringSubmatch(text, -1) {
		if !strings.Contains(metrics, "\n# TYPE "+name[1]+" ") {
			t.Errorf("there is no metric %s", name[1])
		}
	}
	line := regexp.MustCompile("`policy=(.*?) mildest_of=\"(.*?)\"`").FindStringSubmatch(text)
	eventually(t, "the log says so", func() bool {
		return line != nil && strings.Contains(s.log(), fmt.Sprintf(`"policy":%q,"mildest_of":%q`, line[1], line[2]))
	})
}

// results is a field of a verifier that found a good signature of bank.example.
const results = " mx1.example.org; dkim=pass header.d=bank.example"

func TestPolicyGuideAllow(t *testing.T) {
	t.Parallel()
	s := guided(t, "[milter]\nauthserv_id")
	spam := text()
	s.reportBody(t, spam, "other")
	w := dialWire(t, s.milter)
	for _, c := range []struct {
		name   string
		change func(l *letter)
		want   string // rule; "": judged
	}{
		{"stranger", func(*letter) {}, ""},
		{"partner", func(l *letter) { l.client, l.from = "192.0.2.77", "<billing@example.net>" }, "partner"},
		{"partner over IPv6", func(l *letter) { l.client, l.from = "2001:db8::77", "<billing@example.net>" }, "partner"},
		{"partner's address from elsewhere", func(l *letter) { l.from = "<billing@example.net>" }, ""},
		{"partner's network", func(l *letter) { l.client = "192.0.2.77" }, ""},
		{"bank", func(l *letter) {
			l.header = [][2]string{{"Authentication-Results", results}, {"From", " The Bank <News@Bank.example>"}}
		}, "bank"},
		{"bank without a proof", func(l *letter) { l.header = [][2]string{{"From", " News@bank.example"}} }, ""},
		{"bank with a proof from below", func(l *letter) {
			l.header = [][2]string{{"Received", " from x"}, {"Authentication-Results", results}, {"From", " news@bank.example"}}
		}, ""},
		{"bank proven by somebody else", func(l *letter) {
			l.header = [][2]string{{"Authentication-Results", strings.Replace(results, "mx1", "mx2", 1)}, {"From", " news@bank.example"}}
		}, ""},
		{"another address at the bank", func(l *letter) {
			l.header = [][2]string{{"Authentication-Results", results}, {"From", " loans@bank.example"}}
		}, ""},
		{"list", func(l *letter) {
			l.client, l.header = "198.51.100.7", [][2]string{{"List-Id", " Announcements <Announce.lists.example.org>"}}
		}, "announce"},
		{"list from elsewhere", func(l *letter) { l.header = [][2]string{{"List-Id", " <announce.lists.example.org>"}} }, ""},
		{"desk", func(l *letter) { l.to = []string{"<abuse@example.org>"} }, "desk"},
		{"desk and others", func(l *letter) { l.to = append(l.to, "<abuse@example.org>") }, ""},
	} {
		l := to(spam, "user@example.org")
		c.change(&l)
		action, verdict := w.send(l)
		want := "spam;"
		if c.want != "" {
			want = "allowed; reason=allow:" + c.want + ";"
		}
		if action != "tag" || !strings.HasPrefix(verdict, want) {
			t.Errorf("%s: %s, %q, want %q", c.name, action, verdict, want)
		}
	}
}

// A change of rules holds from the next message on of a connection that stands, and a
// wrong one changes nothing.
func TestPolicyReload(t *testing.T) {
	t.Parallel()
	s := guided(t, "[milter]\nauthserv_id")
	spam := text()
	s.reportBody(t, spam, "other")
	w := dialWire(t, s.milter)
	expect := func(want string) {
		t.Helper()
		if _, verdict := w.send(to(spam, "abuse@example.org")); !strings.HasPrefix(verdict, want) {
			t.Errorf("%q, want %q", verdict, want)
		}
	}
	expect("allowed; reason=allow:desk;")
	s.configure(t, "abuse@example.org", "abuse@")
	s.reload(t, `"not reloaded`)
	if !regexp.MustCompile(`spambloom.toml:\d+: allow.recipients: \\"abuse@\\" is not a mail address`).MatchString(s.log()) {
		t.Error(s.log())
	}
	expect("allowed; reason=allow:desk;")

	// A message that has begun keeps the rules that it began with.
	begun := dialWire(t, s.milter)
	begun.begin(to(spam, "abuse@example.org"))
	s.configure(t, "abuse@", "postmaster@example.org")
	s.configure(t, "[[allow]]", "[[policy]]\nname = \"p\"\nrecipients = [\"abuse@example.org\"]\nspam = \"reject\"\n[[allow]]")
	s.reload(t, `"reloaded","changed":["policy","allow"]`)
	if _, verdict := begun.finish(); !strings.HasPrefix(verdict, "allowed;") {
		t.Errorf("begun before: %q", verdict)
	}
	if action, _ := w.send(to(spam, "abuse@example.org")); action != "reject" {
		t.Errorf("after the reload: %s", action)
	}

	// Of a listener that comes with the next start a rule would be without effect until then.
	const first, other = `listen = ["inet:0@127.0.0.1"]`, "inet:0@localhost"
	s.configure(t, first, fmt.Sprintf("listen = [%q]", other))
	s.reload(t, `"changed keys that need a restart","keys":["milter.listen"]`)
	s.configure(t, "[[allow]]", fmt.Sprintf("[[policy]]\nname = \"q\"\nlisteners = [%q]\nspam = \"tag\"\n[[allow]]", other))
	s.reload(t, `: policy.listeners: \"`+other+`\" is no address of milter.listen; allowed: [\"inet:0@127.0.0.1\"]; others take a restart"`)
}

// verifier is a milter that stands for OpenDKIM: it has found a good signature where the
// body says so.
type verifier struct {
	gomilter.NoOpMilter
	signed bool
}

func (v *verifier) BodyChunk(chunk []byte, _ *gomilter.Modifier) (gomilter.Response, error) {
	v.signed = v.signed || strings.Contains(string(chunk), "signed by the bank")
	return gomilter.RespContinue, nil
}

func (v *verifier) Body(m *gomilter.Modifier) (gomilter.Response, error) {
	found := results[1:]
	if !v.signed {
		found = "mx1.example.org; dkim=none"
	}
	return gomilter.RespAccept, m.InsertHeader(0, "Authentication-Results", found)
}

// With Postfix set up as the guide says, a proof is one by our own verifier only; the
// forged one is not even delivered.
func TestPolicyGuidePostfix(t *testing.T) {
	t.Parallel()
	s := guided(t, "[milter]\nauthserv_id")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &gomilter.Server{NewMilter: func() gomilter.Milter { return new(verifier) }, Actions: gomilter.OptAddHeader | gomilter.OptChangeHeader}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ln) }()
	t.Cleanup(func() { server.Close(); <-done })

	milters := strings.NewReplacer("unix:opendkim/opendkim.sock", "inet:"+ln.Addr().String(), "127.0.0.1:8899", s.milter).
		Replace(pageBlock(t, "policy.md", "smtpd_milters"))
	p := newPostfix(t)
	checks := write(t, filepath.Join(p.dir, "etc", "ar_checks"), pageBlock(t, "policy.md", "/^Authentication-Results"))
	if err := os.Chmod(checks, 0o644); err != nil {
		t.Fatal(err)
	}
	p.extra = strings.TrimSpace(milters) + "\nheader_checks = regexp:" + checks + "\n"
	p.start("one", "inet:"+s.milter, "n")

	bank := func(body string, extra ...string) string {
		return strings.Replace(message(body, extra...), "someone@example.net", "news@bank.example", 1)
	}
	for _, c := range []struct{ name, mail, want string }{
		{"signed", bank("signed by the bank\r\n" + text()), "allowed"},
		{"not signed", bank(text()), "clean"},
		{"forged", bank(text(), "Authentication-Results:"+results), "clean"},
		{"forged, folded", bank(text(), "AUTHENTICATION-RESULTS :\r\n\tMX1.example.org;\r\n\tdkim=pass header.d=bank.example"), "clean"},
	} {
		d := p.send(c.mail)
		if verdict, _ := d.verdict(t); verdict != c.want {
			t.Errorf("%s: %s, want %s", c.name, verdict, c.want)
		}
		fields := d.header["Authentication-Results"]
		if len(fields) != 1 || (strings.Contains(fields[0], "dkim=pass") != (c.name == "signed")) {
			t.Errorf("%s: delivered with %q", c.name, fields)
		}
	}
}
