package mta

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// guided starts a daemon with the configuration in a block of contrib/policy.md, with its
// ports replaced by free ones.
func guided(t *testing.T, first string) *harness.Site {
	t.Helper()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	s.Configure(t, "[milter]\nlisten = [\"inet:0@127.0.0.1\"]\n", "[milter]\n")
	text := strings.Replace(harness.PageBlock(t, "policy.md", first), "[reports]\nclasses = true\n", "", 1) // set below
	for _, port := range []string{"8899", "8890"} {
		text = strings.ReplaceAll(text, "inet:"+port, fmt.Sprintf("inet:%d", testenv.Port(t)))
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
	s.Configure(t, "[milter]\n", "[milter]\n"+listen+regexp.MustCompile(`(?s)^[^\[]*`).FindString(rest))
	s.Configure(t, "threshold = 50\n", "")
	s.Configure(t, "[log]", milter+regexp.MustCompile(`(?s)\[.*`).FindString(rest)+"[log]")
	s.Configure(t, "capacity = 4000", "capacity = 4000\nclasses = true")
	s.Configure(t, "capacity = 1000\n", "capacity = 1000\ncount_networks = [\"127.0.0.0/8\"]\n")
	return s.Start()
}

// reportBody reports mail with that body.
func reportBody(s *harness.Site, t *testing.T, body, class string) {
	t.Helper()
	path := harness.Write(t, filepath.Join(s.Dir, class+".eml"), harness.Message(body))
	if r := s.CLI("report", "--class", class, path); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
}

// The guide's example is correct: the table of recipients, and the log lines for several
// recipients.
func TestPolicyGuideRecipients(t *testing.T) {
	t.Parallel()
	s := guided(t, "[milter]\nlisten")
	spam, malware, often := harness.Text(), harness.Text(), harness.Text()
	reportBody(s, t, spam, "other")
	reportBody(s, t, malware, "malware")
	w := harness.DialWire(t, s.Milter)
	many := harness.LetterTo(often)
	for i := range 50 {
		many.LetterTo = append(many.LetterTo, fmt.Sprintf("<user%d@example.org>", i))
	}
	w.Send(many)

	text := harness.GuidePage(t, "policy.md")
	rows := regexp.MustCompile(`(?m)^\| (\S+@\S+) \| (\w+) \| (\w+) \| (.+) \|$`).FindAllStringSubmatch(text, -1)
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		if got, _ := w.Send(harness.LetterTo(spam, row[1])); got != row[2] {
			t.Errorf("spam for %s: %s, the page says %s", row[1], got, row[2])
		}
		if got, _ := w.Send(harness.LetterTo(malware, row[1])); got != row[3] {
			t.Errorf("malware for %s: %s, the page says %s", row[1], got, row[3])
		}
		action, verdict := w.Send(harness.LetterTo(often, row[1]))
		if isBulk := strings.HasPrefix(verdict, "bulk;"); isBulk == (row[4] == "not bulk yet") || isBulk && action != row[4] {
			t.Errorf("bulk for %s: %s, %s; the page says %s", row[1], action, verdict, row[4])
		}
	}

	if got, verdict := w.Send(harness.LetterTo(spam, "user@example.org", "abuse@example.org")); got != "tag" || !strings.HasPrefix(verdict, "spam;") {
		t.Errorf("for both: %s, %s", got, verdict)
	}
	_, metrics := s.Get("/metrics")
	for _, name := range regexp.MustCompile("`(spambloom_[a-z_]+)`").FindAllStringSubmatch(text, -1) {
		if !strings.Contains(metrics, "\n# TYPE "+name[1]+" ") {
			t.Errorf("there is no metric %s", name[1])
		}
	}
	line := regexp.MustCompile("`policy=(.*?) mildest_of=\"(.*?)\"`").FindStringSubmatch(text)
	testenv.Eventually(t, "the log reports it", func() bool {
		return line != nil && strings.Contains(s.Log(), fmt.Sprintf(`"policy":%q,"mildest_of":%q`, line[1], line[2]))
	})
}

// results is a field of a verifier that found a valid signature of bank.example.
const results = " mx1.example.org; dkim=pass header.d=bank.example"

func TestPolicyGuideAllow(t *testing.T) {
	t.Parallel()
	s := guided(t, "[milter]\nauthserv_id")
	spam := harness.Text()
	reportBody(s, t, spam, "other")
	w := harness.DialWire(t, s.Milter)
	for _, c := range []struct {
		name   string
		change func(l *harness.Letter)
		want   string // rule; "": judged
	}{
		{"stranger", func(*harness.Letter) {}, ""},
		{"partner", func(l *harness.Letter) { l.Client, l.From = "192.0.2.77", "<billing@example.net>" }, "partner"},
		{"partner over IPv6", func(l *harness.Letter) { l.Client, l.From = "2001:db8::77", "<billing@example.net>" }, "partner"},
		{"partner's address from elsewhere", func(l *harness.Letter) { l.From = "<billing@example.net>" }, ""},
		{"partner's network", func(l *harness.Letter) { l.Client = "192.0.2.77" }, ""},
		{"bank", func(l *harness.Letter) {
			l.Header = [][2]string{{"Authentication-Results", results}, {"From", " The Bank <News@Bank.example>"}}
		}, "bank"},
		{"bank without a proof", func(l *harness.Letter) { l.Header = [][2]string{{"From", " News@bank.example"}} }, ""},
		{"bank with a proof from below", func(l *harness.Letter) {
			l.Header = [][2]string{{"Received", " from x"}, {"Authentication-Results", results}, {"From", " news@bank.example"}}
		}, ""},
		{"bank proven by somebody else", func(l *harness.Letter) {
			l.Header = [][2]string{{"Authentication-Results", strings.Replace(results, "mx1", "mx2", 1)}, {"From", " news@bank.example"}}
		}, ""},
		{"another address at the bank", func(l *harness.Letter) {
			l.Header = [][2]string{{"Authentication-Results", results}, {"From", " loans@bank.example"}}
		}, ""},
		{"list", func(l *harness.Letter) {
			l.Client, l.Header = "198.51.100.7", [][2]string{{"List-Id", " Announcements <Announce.lists.example.org>"}}
		}, "announce"},
		{"list from elsewhere", func(l *harness.Letter) { l.Header = [][2]string{{"List-Id", " <announce.lists.example.org>"}} }, ""},
		{"desk", func(l *harness.Letter) { l.LetterTo = []string{"<abuse@example.org>"} }, "desk"},
		{"desk and others", func(l *harness.Letter) { l.LetterTo = append(l.LetterTo, "<abuse@example.org>") }, ""},
	} {
		l := harness.LetterTo(spam, "user@example.org")
		c.change(&l)
		action, verdict := w.Send(l)
		want := "spam;"
		if c.want != "" {
			want = "allowed; reason=allow:" + c.want + ";"
		}
		if action != "tag" || !strings.HasPrefix(verdict, want) {
			t.Errorf("%s: %s, %q, want %q", c.name, action, verdict, want)
		}
	}
}

// A change of rules applies from the next message of an open connection, and an invalid
// change has no effect.
func TestPolicyReload(t *testing.T) {
	t.Parallel()
	s := guided(t, "[milter]\nauthserv_id")
	spam := harness.Text()
	reportBody(s, t, spam, "other")
	w := harness.DialWire(t, s.Milter)
	expect := func(want string) {
		t.Helper()
		if _, verdict := w.Send(harness.LetterTo(spam, "abuse@example.org")); !strings.HasPrefix(verdict, want) {
			t.Errorf("%q, want %q", verdict, want)
		}
	}
	expect("allowed; reason=allow:desk;")
	s.Configure(t, "abuse@example.org", "abuse@")
	s.Reload(t, `"reload failed`)
	if !regexp.MustCompile(`spambloom.toml:\d+: allow.recipients: \\"abuse@\\" is not a mail address`).MatchString(s.Log()) {
		t.Error(s.Log())
	}
	expect("allowed; reason=allow:desk;")

	// A message that has begun keeps its rules.
	begun := harness.DialWire(t, s.Milter)
	begun.Begin(harness.LetterTo(spam, "abuse@example.org"))
	s.Configure(t, "abuse@", "postmaster@example.org")
	s.Configure(t, "[[allow]]", "[[policy]]\nname = \"p\"\nrecipients = [\"abuse@example.org\"]\nspam = \"reject\"\n[[allow]]")
	s.Reload(t, `"reloaded","changed":["policy","allow"]`)
	if _, verdict := begun.Finish(); !strings.HasPrefix(verdict, "allowed;") {
		t.Errorf("begun before: %q", verdict)
	}
	if action, _ := w.Send(harness.LetterTo(spam, "abuse@example.org")); action != "reject" {
		t.Errorf("after the reload: %s", action)
	}

	// A rule for a listener that needs a restart would have no effect until then.
	const first, other = `listen = ["inet:0@127.0.0.1"]`, "inet:0@localhost"
	s.Configure(t, first, fmt.Sprintf("listen = [%q]", other))
	s.Reload(t, `"changed keys need a restart","keys":["milter.listen"]`)
	s.Configure(t, "[[allow]]", fmt.Sprintf("[[policy]]\nname = \"q\"\nlisteners = [%q]\nspam = \"tag\"\n[[allow]]", other))
	s.Reload(t, `: policy.listeners: \"`+other+`\" is not an address of milter.listen or spamd.listen; allowed: [\"inet:0@127.0.0.1\"]; other listeners need a restart"`)
}

// verifier is a milter that replaces OpenDKIM: it reports a valid signature if the body
// requests it.
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

// With Postfix set up according to the guide, only our own verifier can provide a proof; a
// forged one is not even delivered.
func TestPolicyGuidePostfix(t *testing.T) {
	t.Parallel()
	s := guided(t, "[milter]\nauthserv_id")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	server := &gomilter.Server{NewMilter: func() gomilter.Milter { return new(verifier) }, Actions: gomilter.OptAddHeader | gomilter.OptChangeHeader}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ln) }()
	t.Cleanup(func() { ln.Close(); <-done }) // the server's Close races with its Serve

	milters := strings.NewReplacer("unix:opendkim/opendkim.sock", "inet:"+ln.Addr().String(), "127.0.0.1:8899", s.Milter).
		Replace(harness.PageBlock(t, "policy.md", "smtpd_milters"))
	p := harness.NewPostfix(t)
	checks := harness.Write(t, filepath.Join(p.Dir, "etc", "ar_checks"), harness.PageBlock(t, "policy.md", "/^Authentication-Results"))
	testenv.Check(t, os.Chmod(checks, 0o644))
	p.Extra = strings.TrimSpace(milters) + "\nheader_checks = regexp:" + checks + "\n"
	p.Start("one", "inet:"+s.Milter, "n")

	bank := func(body string, extra ...string) string {
		return strings.Replace(harness.Message(body, extra...), "someone@example.net", "news@bank.example", 1)
	}
	for _, c := range []struct{ name, mail, want string }{
		{"signed", bank("signed by the bank\r\n" + harness.Text()), "allowed"},
		{"not signed", bank(harness.Text()), "clean"},
		{"forged", bank(harness.Text(), "Authentication-Results:"+results), "clean"},
		{"forged, folded", bank(harness.Text(), "AUTHENTICATION-RESULTS :\r\n\tMX1.example.org;\r\n\tdkim=pass header.d=bank.example"), "clean"},
	} {
		d := p.Send(c.mail)
		if verdict, _ := d.Verdict(t); verdict != c.want {
			t.Errorf("%s: %s, want %s", c.name, verdict, c.want)
		}
		fields := d.Header["Authentication-Results"]
		if len(fields) != 1 || (strings.Contains(fields[0], "dkim=pass") != (c.name == "signed")) {
			t.Errorf("%s: delivered with %q", c.name, fields)
		}
	}
}
