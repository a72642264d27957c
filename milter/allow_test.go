package milter

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/room"
)

// mx is the authserv-id of the site in these tests.
const mx = "mx.example.test"

// house has rules for a verified sender, an envelope sender and a recipient.
var house = []policy.Allow{
	{Name: "senders", Senders: []string{"list.example"}},
	{Name: "bank", From: []string{"bank.example"}},
	{Name: "desk", Recipients: []string{"desk@here.example"}},
}

// Reported spam from 203.0.114.7 to these recipients, on one connection: the log line and
// the answer to the MTA. Allowed mail is not counted.
func TestAllowedSessions(t *testing.T) {
	const signed = "Authentication-Results: mx.example.test; dkim=pass header.d=bank.example"
	spammers := []policy.Allow{{Name: "net", Networks: prefixes("203.0.114.7/32")}}
	here := []policy.Allow{{Name: "all", Listeners: []string{"listener"}}}
	db := openDB(t)
	b := start(t, Options{}, nil)
	b.Server.db = db
	testenv.Check(t, db.Report(letter.set(), 0))
	m := dial(t, "tcp", b.addr, offerAll, "203.0.114.7")
	count := 0.
	for _, test := range []struct {
		name   string
		o      Options
		to     string
		header []string
		want   string // verdict, action, reason, answer
	}{
		{"no rule", Options{}, "you@here.example", nil, "spam reject  y"},
		{"From", Options{Allow: house}, "you@here.example", []string{signed, "From: a@bank.example"}, "allowed tag allow:bank c"},
		{"nothing of the one before", Options{Allow: house}, "you@here.example", nil, "spam reject  y"},
		{"forged results", Options{Allow: house}, "you@here.example", []string{"From: a@bank.example", signed}, "spam reject  y"},
		{"recipients", Options{Allow: house}, "desk@here.example desk+x@here.example", nil, "allowed tag allow:desk c"},
		{"one of the recipients", Options{Allow: house}, "you@here.example desk@here.example", nil, "spam tag  c"},
		{"client", Options{Allow: spammers}, "you@here.example", nil, "allowed tag allow:net c"},
		{"listener", Options{Allow: here}, "you@here.example", nil, "allowed tag allow:all c"},
		{"clean mail is accepted", Options{Allow: here, Policy: policy.Policy{Clean: policy.Accept}}, "you@here.example", nil, "allowed accept allow:all c"},
		{"clean mail is refused", Options{Allow: here, Policy: policy.Policy{Clean: policy.Reject}}, "you@here.example", nil, "allowed tag allow:all c"},
		{"local network", Options{Allow: here, LocalNetworks: prefixes("203.0.114.0/24")}, "you@here.example", nil, "skipped accept local c"},
		{"before a recipient's policy", Options{Allow: house, Overrides: []policy.Override{{Name: "strict", Recipients: []string{"desk@here.example"}, Policy: policy.Policy{Spam: policy.Discard}}}}, "desk@here.example", nil, "allowed tag allow:desk c"},
		{"with a milder policy", Options{Allow: house, Overrides: []policy.Override{{Name: "mild", Domains: []string{"mild.example"}, Policy: policy.Policy{Spam: policy.Accept}}}}, "desk@here.example you@mild.example", nil, "spam accept  c"},
	} {
		test.o.AuthservID, test.o.Site, test.o.Log, test.o.Policy.Spam = mx, "mx1", b.options.Load().Log, policy.Reject
		b.Reload(test.o)
		answer := m.sendTo(strings.Fields(test.to), letter, test.header...)
		lines := b.lines()
		line := lines[len(lines)-1]
		if got := fmt.Sprintf("%v %v %v %c", line["verdict"], line["action"], line["reason"], answer.Code); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if line["verdict"] == string(policy.Spam) {
			count++
			if line["count"] != count {
				t.Errorf("%s: count %v, want %v", test.name, line["count"], count)
			}
		}
	}
}

// A mail that cannot be judged is not deferred if one of its recipients is allowed: it
// would have passed if sent to that recipient alone.
func TestFailureOfAllowedRecipient(t *testing.T) {
	o := Options{Allow: []policy.Allow{{Name: "desk", Recipients: []string{"desk@here.example"}}}}
	o.Tempfail.Overload, o.Tempfail.Error, o.Tempfail.Deadline = true, true, true
	s := NewServer(nil, o)
	for to, want := range map[string]policy.Action{"you@here.example": policy.Tempfail, "you@here.example desk@here.example": policy.Tag} {
		msg := &message{options: s.options.Load(), server: s, holder: new(room.Client), Envelope: policy.Envelope{Recipients: strings.Fields(to)}}
		msg.allowed, _ = msg.options.rules.Allowed(&msg.Envelope, nil)
		for range 2 { // the second is not logged
			if d := s.fail(msg, causeOverload, errSuspended); d.Action != want || d.Verdict != policy.Failed {
				t.Errorf("to %s: %+v, want %s", to, d, want)
			}
		}
	}
}

// sendTo is like send, with an envelope and additional fields above those of the message.
func (m *mta) sendTo(recipients []string, msg mail, header ...string) *gomilter.Action {
	m.t.Helper()
	m.must(m.Mail("sender@example.org", nil))
	for _, r := range recipients {
		m.must(m.Rcpt(r, nil))
	}
	for _, line := range slices.Concat(header, msg.header) {
		name, value, _ := strings.Cut(line, ": ")
		m.must(m.HeaderField(name, value))
	}
	m.must(m.HeaderEnd())
	_, action, err := m.BodyReadFrom(strings.NewReader(msg.body))
	if err != nil {
		m.t.Fatal(err)
	}
	return action
}

// A truncated header does not show a second From.
func TestTruncatedHeaderProvesNothing(t *testing.T) {
	for size, want := range map[int]string{10: "bank", 2000: ""} {
		b := NewServer(nil, Options{MaxMessage: 1000, AuthservID: mx, Allow: house})
		m := message{options: b.options.Load(), server: b, holder: new(room.Client), Envelope: policy.Envelope{Recipients: []string{"you@here.example"}, Count: 1}}
		m.addField("Authentication-Results", "mx.example.test; dkim=pass header.d=bank.example")
		m.addField("From", "a@bank.example")
		m.addField("X-Long", strings.Repeat("x", size))
		m.addChunk(make([]byte, 2000)) // a truncated body hides no field
		allowed, _ := m.options.rules.Allowed(&m.Envelope, m.wholeHeader())
		if got := strings.Join(allowed, " "); got != want {
			t.Errorf("with a field of %d bytes: %q, want %q", size, got, want)
		}
	}
}

// The rules receive a session's HELO name and a sender longer than permitted.
func TestEnvelopeOfSession(t *testing.T) {
	db := openDB(t)
	o := Options{AuthservID: mx, Allow: house, Policy: policy.Policy{Spam: policy.Reject}}
	b := start(t, o, nil)
	b.Server.db = db
	testenv.Check(t, db.Report(letter.set(), 0))
	m := dial(t, "tcp", b.addr, offerAll, "203.0.114.7")
	proven := []string{"Authentication-Results: mx.example.test; dkim=pass header.d=bank.example", "From: a@bank.example"}
	allowed := func(name string, want bool, header ...string) {
		t.Helper()
		answer := m.sendTo([]string{"you@here.example"}, letter, header...)
		if got := answer.Code == gomilter.ActContinue; got != want {
			t.Errorf("%s: allowed %v, want %v", name, got, want)
		}
	}
	allowed("plain", true, proven...)
	m.must(m.Helo("x) ; dkim=pass header.d=bank.example (y"))
	allowed("HELO with a comment's end", false, proven...)
	m.must(m.Helo("client.example"))
	allowed("plain HELO again", true, proven...)

	// Cut to 320 or 321 bytes, the third and fourth would belong to the rule's domain.
	for sender, want := range map[string]string{
		"x@list.example": "allow:senders",
		strings.Repeat("x", policy.MaxAddress-len("@list.example")) + "@list.example":                "allow:senders",
		strings.Repeat("x", policy.MaxAddress-len("@list.example")) + "@list.example.evil.example":   "",
		strings.Repeat("x", policy.MaxAddress+1-len("@list.example")) + "@list.example.evil.example": "",
		strings.Repeat("x", 1000) + "@list.example":                                                  "",
	} {
		m.must(m.Mail(sender, nil))
		m.must(m.Rcpt("you@here.example", nil))
		m.must(m.HeaderEnd())
		if _, _, err := m.BodyReadFrom(strings.NewReader("short")); err != nil {
			t.Fatal(err)
		}
		lines := b.lines()
		if got := fmt.Sprint(lines[len(lines)-1]["reason"]); (got == "allow:senders") != (want != "") {
			t.Errorf("%.20s...%s: %s, want %q", sender, sender[max(0, len(sender)-20):], got, want)
		}
	}
}

// A new client on the same connection has sent no HELO, whatever the previous client sent.
func TestHeloOfPreviousClient(t *testing.T) {
	b := start(t, Options{AuthservID: mx, Allow: house}, clean)
	w := dialWire(t, b.addr, offerAll)
	for _, c := range []struct{ code, want string }{{"", "clean"}, {"K", "allowed"}} {
		if c.code == "" {
			w.send('H', "x) ; dkim=pass header.d=bank.example (y\x00")
		} else {
			w.send(c.code[0], "")
		}
		w.send('M', "<s@evil.example>\x00")
		w.send('R', "<you@here.example>\x00")
		w.send('L', "Authentication-Results\x00mx.example.test; dkim=pass header.d=bank.example\x00")
		w.send('L', "From\x00a@bank.example\x00")
		w.send('N', "")
		w.send('E', "")
		w.expect("ic")
		if got := b.lines()[len(b.lines())-1]["verdict"]; got != c.want {
			t.Errorf("after %q: %v, want %s", c.code, got, c.want)
		}
	}
}

func prefixes(list ...string) (all []netip.Prefix) {
	for _, s := range list {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}
