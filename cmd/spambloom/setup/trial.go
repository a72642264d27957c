package setup

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/spambloom/finding"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// trial is a mail that goes through the mail server twice, before and after it is reported.
type trial struct {
	*machine
	daemon  *client.Client
	text    string // that no other mail has
	request api.Request
	local   []netip.Prefix // networks whose mail is not judged
	seen    int            // judgements about it
}

// reporter is the name of the trial's report. It is nobody's, because a revoked report lowers
// the trust in its reporter.
const reporter = "setup"

// try sends the mails, and returns what became of them.
func (m *machine) try(ctx context.Context, dial func() (*client.Client, error)) []finding.Finding {
	t := &trial{machine: m, text: letter(), local: m.config.Milter.LocalNetworks}
	err := eventually(ctx, settled, func() (err error) { t.daemon, err = dial(); return err })
	if err != nil {
		return nil // a check of doctor's
	}
	defer t.daemon.Close()
	t.request = api.NewRequest(signature.Compute(signature.Parse([]byte(t.message("setup")))))
	t.request.Reporter = reporter

	first, err := t.send(ctx)
	if err != nil {
		return []finding.Finding{t.fault("mail", err)}
	}
	findings := []finding.Finding{finding.Good("mail", "%s handed a mail for %s to the daemon: %s", m.server.Name, m.To, first)}
	receipt, err := client.Post(ctx, t.daemon, v1.Report, t.request)
	if err != nil {
		return append(findings, finding.Fault("report", "spambloom report contrib/sample-spam.eml", "the mail could not be reported: %v", err))
	}
	findings = append(findings, t.reported(ctx, receipt))
	if _, err = client.Post(ctx, t.daemon, v1.Revoke, t.request); err != nil {
		return append(findings, finding.Fault("revoke", "spambloom reports, then spambloom undo", "the report of the mail could not be revoked: %v", err))
	}
	answer, err := client.Post(ctx, t.daemon, v1.Check, t.request)
	switch {
	case err != nil:
		return append(findings, finding.Fault("revoke", "spambloom status", "the daemon does not judge the mail after the revocation: %v", err))
	case answer.Verdict == "spam":
		return append(findings, finding.Fault("revoke", "spambloom reports", "the mail is spam after its revocation"))
	}
	return append(findings, finding.Good("revoke", "the report was revoked, and the mail is %s again", answer.Verdict))
}

// reported sends the mail again.
func (t *trial) reported(ctx context.Context, receipt api.Receipt) finding.Finding {
	if receipt.Quorum > 0 {
		return finding.Skip("report", "reported; reports.quorum wants %g, and this report has the weight %g, so the mail is not spam yet", receipt.Quorum, receipt.Sum)
	}
	second, err := t.send(ctx)
	var refused *refusal
	switch {
	case errors.As(err, &refused) && refused.isAtEnd:
		return finding.Good("report", "the next copy was refused: %v", refused)
	case err != nil:
		return t.fault("report", err)
	case second.verdict != "spam":
		return finding.Fault("report", "spambloom explain, with the mail", "the mail was reported, but its next copy is %s", second)
	}
	return finding.Good("report", "reported; the next copy is spam: %s", second)
}

var (
	errNotAsked = errors.New("the mail server accepted the mail, but did not ask the daemon")
	errLocal    = errors.New("all addresses of this machine at which the mail server answers are in milter.local_networks, whose mail is not judged")
)

// fault returns the finding about a mail that was not judged.
func (t *trial) fault(check string, err error) finding.Finding {
	var refused *refusal
	switch {
	case errors.Is(err, errLocal):
		return finding.Skip(check, "no mail was sent: %v; send one from another machine", err)
	case errors.As(err, &refused):
		return finding.Fault(check, "name a recipient that it accepts: spambloom setup --yes --to ADDRESS", "%s refused the mail for %s, so nothing was tried: %v", t.server.Name, t.To, refused)
	case errors.Is(err, errNotAsked):
		return finding.Fault(check, "spambloom doctor; is smtpd_milters set in master.cf as well?", "%v, so mail is not judged", err)
	}
	return finding.Fault(check, "start the mail server, or name it with --server", "no mail could be sent: %v", err)
}

// judgement is what became of a mail.
type judgement struct {
	verdict string
	header  string // as in the delivered copy; "": no copy was found
}

func (j judgement) String() string {
	if j.header == "" {
		return j.verdict + " (the copy was not found; --mailbox names its mailbox)"
	}
	return j.header
}

// attempts bounds the mails that are sent until one is judged: after a reload, a process of
// the mail server with the old configuration may accept one.
const attempts = 3

// send sends the mail, and returns the daemon's judgement about it.
func (t *trial) send(ctx context.Context) (j judgement, err error) {
	for range attempts {
		begun := time.Now()
		id := fmt.Sprintf("%016x.setup", rand.Uint64())
		if err := t.deliver(ctx, t.message(id)); err != nil {
			return j, err
		}
		if j.verdict, err = t.judged(ctx, begun); err == nil {
			j.header = t.findHeader(ctx, id)
			return j, nil
		}
		if !errors.Is(err, errNotAsked) {
			return j, err
		}
	}
	return j, err
}

// skew bounds how far the daemon's clock may be behind the caller's, in which the times of
// judgements are.
const skew = 2 * time.Second

// judged asks the daemon whether it has judged the mail since then.
func (t *trial) judged(ctx context.Context, since time.Time) (verdict string, err error) {
	err = eventually(ctx, skew, func() error {
		known, err := client.Post(ctx, t.daemon, v1.Lookup, api.LookupRequest{Request: t.request})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(known.Judged, func(j api.Judged) bool { return j.At.After(since.Add(-skew)) })
		if i < 0 || len(known.Judged) == t.seen {
			return errNotAsked
		}
		t.seen, verdict = len(known.Judged), known.Judged[0].Verdict
		return nil
	})
	return verdict, err
}

// connect connects to the mail server such that it sees a client outside of the local
// networks.
func (t *trial) connect(ctx context.Context) (conn net.Conn, err error) {
	targets := []string{t.Server}
	if t.Server == "" {
		if targets, err = ownAddresses(); err != nil {
			return nil, err
		}
	}
	err = errLocal
	var d net.Dialer
	for _, target := range targets {
		ctx, cancel := context.WithTimeout(ctx, settled)
		conn, dialErr := d.DialContext(ctx, "tcp", target)
		cancel()
		if dialErr != nil {
			if !t.isLocal(target) {
				err = dialErr
			}
			continue
		}
		if !t.isLocal(conn.LocalAddr().String()) {
			return conn, nil
		}
		conn.Close()
	}
	return nil, err
}

// isLocal reports whether mail from an address is not judged.
func (t *trial) isLocal(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && slices.ContainsFunc(t.local, func(p netip.Prefix) bool { return p.Contains(at.Addr().Unmap()) })
}

// ownAddresses returns port 25 at each address of this machine.
func ownAddresses() (list []string, err error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil && !p.Addr().IsLinkLocalUnicast() {
			list = append(list, netip.AddrPortFrom(p.Addr(), 25).String())
		}
	}
	return list, nil
}

// words are combined to texts that are unlikely to exist elsewhere.
var words = strings.Fields(`apple basket candle dragon engine forest garden harbour island jacket
	kettle ladder mirror needle orange pepper quarry ribbon saddle tunnel umbrella valley window
	yellow zebra anchor bridge copper desert ember falcon glacier hammer indigo jungle kernel
	lantern meadow nectar orchid pebble quartz river silver thunder velvet walnut yonder zenith
	almond barrel castle dolphin emerald feather granite horizon ivory jasmine kingdom`)

// letter returns a text that is long enough to be signed.
func letter() string {
	var b strings.Builder
	for i := range 120 {
		b.WriteString(words[rand.IntN(len(words))])
		if i%10 == 9 {
			b.WriteString(".\r\n")
		} else {
			b.WriteString(" ")
		}
	}
	return b.String()
}

// message returns the mail. Signatures do not depend on its header.
func (t *trial) message(id string) string {
	host, err := os.Hostname()
	if err != nil {
		host = config.Default().SiteName()
	}
	to := t.To
	if !strings.Contains(to, "@") {
		to += "@" + host
	}
	return strings.Join([]string{
		"From: spambloom setup <postmaster@" + host + ">", "To: " + to, "Subject: A trial of spambloom setup",
		"Date: " + time.Now().Format(time.RFC1123Z), "Message-ID: <" + id + "@" + host + ">",
		"MIME-Version: 1.0", "Content-Type: text/plain; charset=us-ascii", "", t.text,
	}, "\r\n")
}
