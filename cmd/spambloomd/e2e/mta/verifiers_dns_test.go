package mta

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// zone is the data of a test name server: texts, by name.
type zone map[string]string

// start answers on an address of this machine until the end of the test, and is the name
// server for programs run with the returned arguments. The address belongs to this test
// alone, because the port is fixed.
func (z zone) start(t *testing.T) (within []string) {
	t.Helper()
	host := fmt.Sprintf("127.53.%d.%d", rand.IntN(256), 1+rand.IntN(254))
	server, err := net.ListenPacket("udp", host+":53")
	testenv.Need(t, err == nil, "port 53")
	ended := make(chan struct{})
	go func() { defer close(ended); z.serve(server) }()
	t.Cleanup(func() { server.Close(); <-ended })
	resolv := harness.Write(t, filepath.Join(testenv.Dir(t), "resolv.conf"), "nameserver "+host+"\n")
	testenv.Check(t, os.Chmod(resolv, 0o644))
	within = []string{testenv.Program(t, "unshare"), "--mount", "sh", "-c", `mount --bind ` + resolv + ` /etc/resolv.conf && exec "$0" "$@"`}
	testenv.Need(t, harness.Execute(t, "", within[0], slices.Concat(within[1:], []string{"true"})...).Code == 0, "mount namespaces")
	return within
}

func (z zone) serve(server net.PacketConn) {
	query := make([]byte, 1<<10)
	for {
		n, from, err := server.ReadFrom(query)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(query[:n]); err != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		m = dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true}, Questions: m.Questions}
		text, known := z[strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))]
		if !known {
			m.RCode = dnsmessage.RCodeNameError
		} else if q.Type == dnsmessage.TypeTXT {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60},
				Body:   &dnsmessage.TXTResource{TXT: []string{text}},
			}}
		}
		if answer, err := m.Pack(); err == nil {
			_, _ = server.WriteTo(answer, from) // clients retry
		}
	}
}

// The hosts of the senders. In OpenDMARC's library, loopback passes SPF for any domain.
const bankHost, evilHost = "203.0.113.2", "203.0.113.3"

var senders = zone{
	"bank.example":        "v=spf1 ip4:" + bankHost + " -all",
	"_dmarc.bank.example": "v=DMARC1; p=none",
	"evil.example":        "v=spf1 ip4:" + evilHost + " -all",
}

// startOpenDMARC runs OpenDMARC at a unix socket. It checks SPF itself, and takes DKIM from
// OpenDKIM's field.
func startOpenDMARC(t *testing.T, within []string, socket string) {
	t.Helper()
	conf := harness.Write(t, filepath.Join(testenv.Dir(t), "opendmarc.conf"),
		"AuthservID mx1.example.org\nSPFIgnoreResults true\nSPFSelfValidate true\nUMask 000\nSocket local:"+socket+"\n")
	startFilter(t, socket, within[0], slices.Concat(within[1:], []string{testenv.Program(t, "opendmarc"), "-f", "-c", conf})...)
}

// openDMARCProofs are mails for OpenDMARC after OpenDKIM, with the expected results. The
// last is a trap: the HELO name of a bounce is written to a field unchanged.
func openDMARCProofs(t *testing.T, s signer) []proof {
	t.Helper()
	const ours = "mx1.example.org; "
	results := func(dmarc, spf, dkim string) []string {
		return []string{ours + "dmarc=" + dmarc + "* header.from=bank.example", ours + "spf=" + spf, ours + "dkim=" + dkim}
	}
	const trap = "evil.example;dkim=pass header.d=bank.example"
	return []proof{
		{name: "signed", client: evilHost, sender: "x@evil.example", mail: s.sign(t, "d=bank.example;", fromBank()),
			allowed: true, results: results("pass", "pass smtp.mailfrom=evil.example", "pass")},
		{name: "by its host", client: bankHost, sender: "x@bank.example", mail: fromBank(),
			allowed: true, results: results("pass", "pass smtp.mailfrom=bank.example", "none")},
		{name: "by another host", client: evilHost, sender: "x@bank.example", mail: fromBank(),
			results: results("fail", "fail smtp.mailfrom=bank.example", "none")},
		{name: "signed by another", client: evilHost, sender: "x@evil.example", mail: s.sign(t, "d=evil.example;", fromBank()),
			results: results("fail", "pass smtp.mailfrom=evil.example", "pass")},
		{name: "forged", client: evilHost, sender: "x@evil.example",
			mail:    fromBank("Authentication-Results: " + ours + "dmarc=pass header.from=bank.example"),
			results: results("fail", "pass smtp.mailfrom=evil.example", "none")},
		{name: "forged with HELO", client: evilHost, sender: "<>", helo: trap, mail: fromBank(),
			results: results("fail", "* smtp.helo="+trap, "none")},
	}
}

// Results of OpenDMARC count, and it finds more than OpenDKIM; results that a client makes
// it write do not.
func TestOpenDMARC(t *testing.T) {
	t.Parallel()
	within, keys := senders.start(t), newSigner(t)
	s := guided(t, "[milter]\nauthserv_id")
	p := harness.NewPostfix(t)
	dkim, dmarc := filepath.Join(p.Dir, "opendkim.sock"), filepath.Join(p.Dir, "opendmarc.sock")
	startOpenDKIM(t, dkim, keys.public(t, "bank.example", "evil.example"))
	startOpenDMARC(t, within, dmarc)
	p.Extra = "smtpd_milters = unix:" + dkim + ", unix:" + dmarc + ", inet:" + s.Milter + "\n" +
		"smtpd_authorized_xclient_hosts = 127.0.0.1\n"
	p.Start("one", "inet:"+s.Milter, "n")
	for _, proof := range openDMARCProofs(t, keys) {
		proof.expect(t, proof.passOn(t, p.Addr, filepath.Join(p.Dir, "mail/box/new")))
	}
}

// startPolicydSPF runs Postfix with policyd-spf before these milters.
func startPolicydSPF(t *testing.T, within []string, milters string) *harness.Postfix {
	t.Helper()
	p := harness.NewPostfix(t)
	conf := harness.Write(t, filepath.Join(p.Dir, "policyd-spf.conf"), "Header_Type = AR\nAuthserv_Id = mx1.example.org\n"+
		"HELO_reject = False\nMail_From_reject = False\nskip_addresses = 192.0.2.254/32\n")
	p.Command = harness.Write(t, filepath.Join(p.Dir, "postfix"), "#!/bin/sh\nexec "+within[0]+" --mount sh -c '"+within[4]+"' "+p.Command+" \"$@\"\n")
	for path, mode := range map[string]os.FileMode{p.Command: 0o755, conf: 0o644} {
		testenv.Check(t, os.Chmod(path, mode))
	}
	p.Services = "policyd-spf unix - n n - 0 spawn user=nobody argv=" + testenv.Program(t, "policyd-spf") + " " + conf + "\n"
	p.Extra = "smtpd_recipient_restrictions = check_policy_service unix:private/policyd-spf\n" +
		"smtpd_authorized_xclient_hosts = 127.0.0.1\nsmtpd_milters = " + milters + "\n"
	return p.Start("one", milters, "n")
}

// Results of policyd-spf count if nothing removes its field, whatever an address looks
// like. OpenDKIM removes it, as contrib/policy.md states.
func TestPolicydSPF(t *testing.T) {
	t.Parallel()
	within := senders.start(t)
	s := guided(t, "[milter]\nauthserv_id")
	const ours, quoted = "mx1.example.org; ", `x) spf=pass smtp.mailfrom=bank.example (y`
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		p := startPolicydSPF(t, within, "inet:"+s.Milter)
		for _, proof := range []proof{
			{name: "by its host", client: bankHost, sender: "x@bank.example", mail: fromBank(),
				allowed: true, results: []string{ours + "spf=pass * smtp.mailfrom=bank.example"}},
			{name: "by another host", client: evilHost, sender: "x@bank.example", mail: fromBank(),
				results: []string{ours + "spf=fail * smtp.mailfrom=bank.example"}},
			{name: "forged below", client: evilHost, sender: "x@evil.example",
				mail:    fromBank("Authentication-Results: " + ours + "spf=pass smtp.mailfrom=evil.example"),
				results: []string{ours + "spf=pass (", ours + "spf=pass smtp"}},
			{name: "forged within the address", client: evilHost, sender: `"` + quoted + `"@evil.example`, mail: fromBank(),
				results: []string{ours + "spf=pass * envelope-from=" + quoted}},
		} {
			proof.expect(t, proof.passOn(t, p.Addr, filepath.Join(p.Dir, "mail/box/new")))
		}
	})
	t.Run("opendkim", func(t *testing.T) {
		t.Parallel()
		dkim := filepath.Join(testenv.Dir(t), "opendkim.sock")
		startOpenDKIM(t, dkim, newSigner(t).public(t, "bank.example"))
		p := startPolicydSPF(t, within, "unix:"+dkim+", inet:"+s.Milter)
		removed := proof{name: "by its host", client: bankHost, sender: "x@bank.example", mail: fromBank(), results: []string{ours + "dkim=none"}}
		removed.expect(t, removed.passOn(t, p.Addr, filepath.Join(p.Dir, "mail/box/new")))
	})
}
