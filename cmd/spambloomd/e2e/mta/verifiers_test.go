package mta

// The verifiers trusted by spambloomd: real ones, set up according to contrib/policy.md.
// OpenDKIM uses no name server: it reads the public keys from a file.

import (
	"cmp"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness/sendmail"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// signer signs mail for any domain with DKIM (RFC 6376).
type signer struct{ key *rsa.PrivateKey }

// fromBank is a mail with the allowed address in From.
func fromBank(extra ...string) string {
	return strings.Replace(harness.Message(harness.Text(), extra...), "someone@example.net", "news@bank.example", 1)
}

func newSigner(t *testing.T) signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 1024) // the minimum for OpenDKIM
	testenv.Check(t, err)
	return signer{key}
}

// public returns a line of OpenDKIM's TestPublicKeys for each domain: the name, and its DNS
// record.
func (s signer) public(t *testing.T, domains ...string) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(&s.key.PublicKey)
	testenv.Check(t, err)
	var lines strings.Builder
	for _, d := range domains {
		fmt.Fprintf(&lines, "s1._domainkey.%s v=DKIM1; k=rsa; p=%s\n", d, base64.StdEncoding.EncodeToString(der))
	}
	return lines.String()
}

// sign prepends a signature of From and the body to a mail, with simple canonicalization.
// The tags define the signer: "d=bank.example;".
func (s signer) sign(t *testing.T, tags, mail string) string {
	t.Helper()
	header, body, _ := strings.Cut(mail, "\r\n\r\n")
	_, from, _ := strings.Cut("\r\n"+header, "\r\nFrom:")
	from, _, _ = strings.Cut(from, "\r\n")
	bodyHash := sha256.Sum256([]byte(strings.TrimRight(body, "\r\n") + "\r\n"))
	field := "DKIM-Signature: v=1; a=rsa-sha256; c=simple/simple; s=s1; h=From; " + tags +
		"\r\n\tbh=" + base64.StdEncoding.EncodeToString(bodyHash[:]) + "; b="
	digest := sha256.Sum256([]byte("From:" + from + "\r\n" + field))
	signature, err := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA256, digest[:])
	testenv.Check(t, err)
	return field + base64.StdEncoding.EncodeToString(signature) + "\r\n" + mail
}

// startFilter runs a foreign milter until the end of the test, and waits for its socket.
func startFilter(t *testing.T, socket, name string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(testenv.Dir(t), filepath.Base(name)+".log"))
	testenv.Check(t, err)
	defer log.Close()
	cmd := exec.Command(testenv.Program(t, name), args...)
	cmd.Stdout, cmd.Stderr = log, log
	testenv.Check(t, harness.StartChild(cmd))
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // libmilter takes five seconds to end by itself
		_ = cmd.Wait()         // killed
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("output of %s:\n%s", name, text)
		}
	})
	testenv.Eventually(t, name+" answers", func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// startOpenDKIM runs OpenDKIM at a unix socket with the settings of contrib/policy.md and
// the public keys. It also verifies mail from this machine.
func startOpenDKIM(t *testing.T, socket, keys string) {
	t.Helper()
	dir := testenv.Dir(t)
	settings := harness.PageBlock(t, "policy.md", "AuthservID") + "Mode v\nUMask 000\nInternalHosts 192.0.2.254\n" +
		"Socket local:" + socket + "\nTestPublicKeys " + harness.Write(t, filepath.Join(dir, "keys"), keys) + "\n"
	startFilter(t, socket, "opendkim", "-f", "-x", harness.Write(t, filepath.Join(dir, "opendkim.conf"), settings))
}

// proof is a mail, mostly with the allowed address in From, that may or may not prove its
// sender.
type proof struct {
	name, mail string
	allowed    bool
	results    []string // every Authentication-Results of the delivered mail, with * for anything

	// The source of the mail: "" means 127.0.0.1, the name of dialSMTP, and
	// someone@example.net. Another client needs a server that allows XCLIENT. "<>" sends a
	// bounce.
	client, helo, sender string
}

// passOn sends the mail to a server that stores it in a folder, and reads it from there.
func (p *proof) passOn(t *testing.T, address, folder string) *harness.Delivered {
	t.Helper()
	d, err := dialSMTP("127.0.0.1", address)
	testenv.Check(t, err)
	defer d.close()
	if p.client != "" {
		for _, step := range [][2]string{{"XCLIENT ADDR=" + p.client, "220 "}, {"HELO " + cmp.Or(p.helo, "client.example.net"), "250 "}} {
			if reply, err := d.say(step[0]); err != nil || !strings.HasPrefix(reply, step[1]) {
				t.Fatalf("%s: %q %v", step[0], reply, err)
			}
		}
	}
	sender := strings.Trim(cmp.Or(p.sender, "someone@example.net"), "<>")
	if ready, err := d.begin(envelope{from: sender, rcpts: []string{"you@example.test"}}); err != nil || !ready {
		t.Fatalf("%q %v", d.replies, err)
	}
	if _, err := d.conn.Write([]byte(p.mail + ".\r\n")); err != nil {
		t.Fatal(err)
	}
	if reply, err := d.answer(); err != nil || !strings.HasPrefix(reply, "250 ") {
		t.Fatalf("%q %v", reply, err)
	}
	var files []string
	testenv.Eventually(t, "the mail is delivered", func() bool { files = filesBelow(t, folder); return len(files) == 1 })
	content, err := os.ReadFile(files[0])
	testenv.Check(t, err)
	m, err := mail.ReadMessage(strings.NewReader(string(content)))
	if err != nil {
		t.Fatalf("%v:\n%s", err, content)
	}
	testenv.Check(t, os.Remove(files[0]))
	return &harness.Delivered{Path: files[0], Header: m.Header}
}

// expect compares a delivered mail with its expected result.
func (p *proof) expect(t *testing.T, d *harness.Delivered) {
	t.Helper()
	verdict, fields := d.Verdict(t)
	want := "clean"
	if p.allowed {
		want = "allowed"
	}
	if verdict != want || p.allowed && fields["reason"] != "allow:bank" {
		t.Errorf("%s: %s %v, want %s", p.name, verdict, fields, want)
	}
	results := d.Header["Authentication-Results"]
	matches := len(results) == len(p.results)
	for i := 0; matches && i < len(results); i++ {
		matches = glob(p.results[i]+"*", strings.Join(strings.Fields(results[i]), " "))
	}
	if !matches {
		t.Errorf("%s: delivered with %q, want %q", p.name, results, p.results)
	}
}

const ours, theirs = "Authentication-Results: mx1.example.org; ", "Authentication-Results: mx.elsewhere.example; "

// openDKIMProofs are mails for OpenDKIM, with the expected results.
func openDKIMProofs(t *testing.T, s signer) []proof {
	t.Helper()
	const none, failed, pass = "mx1.example.org; dkim=none", "mx1.example.org; dkim=fail", "mx1.example.org; dkim=pass"
	const bank = "d=bank.example;"
	const forged = "dkim=pass header.d=bank.example"
	evil := "d=evil.example; i=x=3B=20dkim=3Dpass=20header.d=3Dbank.example=20reason=3D@evil.example;"
	list := []proof{
		{name: "signed", mail: s.sign(t, bank, fromBank()), allowed: true, results: []string{pass}},
		{name: "signed below the domain", mail: s.sign(t, "d=mail.bank.example;", fromBank()), allowed: true, results: []string{pass}},
		{name: "not signed", mail: fromBank(), results: []string{none}},
		{name: "changed", mail: s.sign(t, bank, fromBank()) + "One more line.\r\n", results: []string{failed}},
		{name: "from changed", mail: strings.Replace(s.sign(t, bank, fromBank()), "From: news@", "From: <news@bank.example> news@", 1), results: []string{failed}},
		{name: "signed by another", mail: s.sign(t, "d=evil.example;", fromBank()), results: []string{pass}},
		{name: "forged", mail: fromBank(ours + forged), results: []string{none}},
		{name: "forged over a bad signature", mail: ours + forged + "\r\n" + s.sign(t, bank, fromBank()) + "One more line.\r\n", results: []string{failed}},
		{name: "forged by each method, and spelled in many ways", mail: fromBank(ours+forged, ours+"dmarc=pass header.from=bank.example",
			"AUTHENTICATION-RESULTS:MX1.example.org;spf=pass smtp.mailfrom=bank.example", theirs+forged,
			"Authentication-Results: mx1.example.org 1;\r\n\tdkim=pass\r\n\theader.d=bank.example"), results: []string{none, "mx.elsewhere.example; "}},
		{name: "forged within the signer", mail: s.sign(t, evil, fromBank()), results: []string{pass + "*; " + forged}},
	}
	for _, field := range unread {
		list = append(list, proof{name: field, mail: fromBank(field), results: []string{none, "mx1.example.org"}})
	}
	return list
}

// unread are fields that OpenDKIM cannot parse. It removes forged fields, but not these.
var unread = []string{
	"Authentication-Results: mx1.example.org(c); dmarc=pass header.from=bank.example",
	ours + "dmarc /1=pass header.from=bank.example",
	ours + "dmarc=pass header(c).from=bank.example",
	ours + "dmarc=pass header.from=bank.example foo.bar=x",
	ours + "dmarc=pass header.from=bank.example reason=x",
	ours + "dmarc=pass reason=x.y header.from=bank.example",
	ours + "dmarc=pass header.from=bank.example; spf=none smtp.helo=x=; iprev=none",
	ours + "dmarc=pass header.from=bank.example; spf=none smtp.helo=a..b",
	ours + "dmarc=pass header.from=bank.example" + strings.Repeat("; dkim=none", 180),
	ours + "dmarc=pass header.from=bank.example" + strings.Repeat("\r\n\t("+strings.Repeat("c", 500)+")", 9),
}

// A sender proven by OpenDKIM is allowed, and no other. Forged fields are not delivered.
func TestOpenDKIM(t *testing.T) {
	t.Parallel()
	keys := newSigner(t)
	s := guided(t, "[milter]\nauthserv_id")
	public := keys.public(t, "bank.example", "mail.bank.example", "evil.example")

	t.Run("postfix", func(t *testing.T) {
		t.Parallel()
		p := harness.NewPostfix(t)
		p.Extra = strings.Replace(harness.PageBlock(t, "policy.md", "smtpd_milters"), "127.0.0.1:8899", s.Milter, 1)
		testenv.Check(t, os.Mkdir(filepath.Join(p.Dir, "spool/opendkim"), 0o755))
		startOpenDKIM(t, filepath.Join(p.Dir, "spool/opendkim/opendkim.sock"), public)
		p.Start("one", "inet:"+s.Milter, "n")
		for _, proof := range openDKIMProofs(t, keys) {
			proof.expect(t, proof.passOn(t, p.Addr, filepath.Join(p.Dir, "mail/box/new")))
		}
	})
	t.Run("sendmail", func(t *testing.T) {
		t.Parallel()
		m := sendmail.New(t)
		socket := filepath.Join(m.Dir, "opendkim.sock")
		startOpenDKIM(t, socket, public)
		m.Defines = []string{"-DTEST_VERIFIER=local:" + socket}
		host, port, _ := net.SplitHostPort(s.Milter)
		m.Start("inet:" + port + "@" + host)
		for _, proof := range openDKIMProofs(t, keys) {
			proof.expect(t, proof.passOn(t, testenv.Local(m.Port), m.Maildir))
		}
	})
}
