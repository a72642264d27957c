package milter

import (
	"fmt"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	gomilter "github.com/emersion/go-milter"
	"github.com/spambloom/spambloom/milter/door"
	"github.com/spambloom/spambloom/milter/header"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/protocol"
	"github.com/spambloom/spambloom/milter/room"
	"github.com/spambloom/spambloom/signature"
)

var someSignature = signature.Signature{Kind: signature.KindText, Digest: signature.Digest{0xab, 1, 2, 3, 4, 5, 6, 0xef}}

// decideBySubject returns the action named in the subject.
func decideBySubject(j judged) policy.Decision {
	d := policy.Decision{Verdict: policy.Spam, Signatures: []signature.Signature{someSignature}, Count: 12, Sites: 2}
	for _, f := range j.content.Header {
		if f.Name == "Subject" {
			d.Action = policy.Action(f.Value)
		}
	}
	if d.Action == "panic" {
		panic("by subject")
	}
	return d
}

func TestActions(t *testing.T) {
	const verdict = "+0 X-Spambloom: spam; kind=text; count=12; sites=2; site=mx1; id=text:ab010203040506ef"
	const flag = "+0 X-Spam-Flag: YES"
	tests := []struct {
		action  policy.Action
		changes []string
		code    gomilter.ActionCode
		reply   string
	}{
		{policy.Discard, nil, 'd', ""},
		{policy.Accept, nil, 'c', ""},
		{policy.Tag, []string{flag, verdict}, 'c', ""},
		{policy.Quarantine, []string{"hold spam text:ab010203040506ef", flag, verdict}, 'c', ""},
		{policy.Reject, nil, 'y', "550 5.7.1 Message refused: spam text:ab010203040506ef"},
		{policy.Tempfail, nil, 'y', "451 4.7.1 Try again later: spam text:ab010203040506ef"},
	}
	// All on one connection: go-milter drops the session after each answer except
	// "continue", and MTAs send client and HELO only once.
	b := start(t, Options{SpamFlag: "X-Spam-Flag"}, decideBySubject)
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.7")
	dial(t, "tcp", b.addr, offerAll, "192.0.2.8") // the client of the session it would get instead
	for _, test := range tests {
		changes, answer := m.send(mail{header: []string{"Subject: " + string(test.action)}, body: "x"})
		if got := changed(changes); !slices.Equal(got, test.changes) {
			t.Errorf("%s: changes %q, want %q", test.action, got, test.changes)
		}
		reply := ""
		if answer.Code == 'y' {
			reply = fmt.Sprintf("%d %s", answer.SMTPCode, answer.SMTPText)
		}
		if answer.Code != test.code || reply != test.reply {
			t.Errorf("%s: answer %q %q, want %q %q", test.action, answer.Code, reply, test.code, test.reply)
		}
	}
	lines := b.lines()
	if len(lines) != len(tests) {
		t.Fatalf("%d log lines for %d messages", len(lines), len(tests))
	}
	for i, line := range lines {
		if line["client"] != "192.0.2.7" || line["action"] != string(tests[i].action) {
			t.Errorf("log of message %d: %v", i, line)
		}
	}
}

func TestReplyDoublesPercent(t *testing.T) {
	if got := string(reply("550 5.7.1 100% spam").Response().Data); got != "550 5.7.1 100%% spam\x00" {
		t.Errorf("reply %q", got)
	}
}

func TestForgedHeaders(t *testing.T) {
	forgeries := []string{"X-Spambloom: clean", "Subject: accept", "x-sPAMbloom: clean", "X-Spam-Flag: NO",
		"X-SPAMBLOOM : clean", "x-spam-flag: NO", "X-Spambloom-Other: stays"}
	removed := []string{"-3 X-Spambloom", "-2 X-Spambloom", "-1 X-Spambloom", "-2 X-Spam-Flag", "-1 X-Spam-Flag"}
	local := netip.MustParsePrefix("192.0.2.0/24")
	none := removed[:3] // with no flag, that of another filter stays
	tests := []struct {
		name    string
		o       Options
		macros  []string
		removed []string
	}{
		{"accepted", Options{SpamFlag: "X-Spam-Flag"}, nil, removed},
		{"no flag", Options{}, nil, none},
		{"local", Options{SpamFlag: "x-spam-FLAG", LocalNetworks: []netip.Prefix{local}}, nil, removed},
		{"authenticated", Options{SpamFlag: "X-Spam-Flag", SkipAuthenticated: true}, []string{"{auth_authen}", "alice"}, removed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := start(t, test.o, decideBySubject)
			m := dial(t, "tcp", b.addr, offerAll, "192.0.2.7")
			changes, answer := m.send(mail{header: forgeries, body: "x", macros: test.macros})
			if got := changed(changes); !slices.EqualFunc(got, test.removed, strings.EqualFold) || answer.Code != 'c' {
				t.Errorf("changes %q, answer %q", got, answer.Code)
			}
			// The numbers restart with each message, without an ABORT.
			changes, _ = m.send(mail{header: []string{"Subject: accept"}, body: "x", macros: test.macros})
			if len(changes) > 0 {
				t.Errorf("second message: changes %q", changed(changes))
			}
		})
	}
	t.Run("over the limit", func(t *testing.T) {
		b := start(t, Options{SpamFlag: "X-Spam-Flag", MaxMessage: 10}, clean)
		m := dial(t, "tcp", b.addr, offerAll, "192.0.2.7")
		changes, _ := m.send(mail{header: forgeries, body: strings.Repeat("x", 100)})
		if got := changed(changes); len(got) < 5 || !slices.Equal(got[:5], removed) {
			t.Errorf("changes %q", got)
		}
	})
}

func TestSkipped(t *testing.T) {
	nets := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("::ffff:172.16.0.0/108")}
	conn4 := func(ip string) string { return "h\x004\x00\x19" + ip + "\x00" }
	conn6 := func(ip string) string { return "h\x006\x00\x19" + ip + "\x00" }
	tests := []struct{ name, connect, auth, client, reason string }{
		{"remote", conn4("192.0.2.1"), "", "192.0.2.1", ""},
		{"local", conn4("10.1.2.3"), "", "10.1.2.3", "local"},
		{"mapped", conn6("::ffff:10.1.2.3"), "", "10.1.2.3", "local"},
		{"local, network mapped", conn4("172.31.2.3"), "", "172.31.2.3", "local"},
		{"beside it", conn4("172.32.2.3"), "", "172.32.2.3", ""},
		{"local v6", conn6("2001:db8::1"), "", "2001:db8::1", "local"},
		{"Sendmail's v6", conn6("IPv6:2001:db8::1"), "", "2001:db8::1", "local"},
		{"Sendmail's remote v6", conn6("IPv6:2001:1::1"), "", "2001:1::1", ""},
		{"submission, unix", "localhost\x00L\x00\x00/dev/null\x00", "", "127.0.0.1", "local"},
		{"submission, unknown", "localhost\x00U", "", "127.0.0.1", "local"},
		{"unreadable address is not local", conn4("not an address"), "", "invalid IP", ""},
		{"authenticated", conn4("192.0.2.1"), "alice", "192.0.2.1", "authenticated"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := start(t, Options{LocalNetworks: nets, SkipAuthenticated: true}, clean)
			w := dialWire(t, b.addr, offerAll)
			w.send('C', test.connect)
			if test.auth != "" {
				w.send('D', "M{auth_authen}\x00"+test.auth+"\x00")
			}
			w.send('M', "<s@example.org>\x00")
			w.send('D', "Ri\x00Q1\x00") // macros of a later stage do not hide earlier ones
			w.send('R', "<r@example.org>\x00")
			w.send('N', "")
			w.send('E', "")
			if test.reason == "" {
				w.expect("i") // the header
			}
			w.expect("c")
			line := b.lines()[0]
			if line["client"] != test.client || line["reason"] != test.reason || line["queue_id"] != "Q1" {
				t.Errorf("log %v", line)
			}
			if skipped := b.metric("spambloom_skipped_total", test.reason); test.reason != "" && (skipped != 1 || len(b.contents()) != 0) {
				t.Errorf("skipped %v, judged %d", skipped, len(b.contents()))
			}
		})
	}
}

// TestResolvedRecipient is the attack "form of the recipient": of what a client writes, Postfix says whom it
// means. Of another MTA, and where the macros are not for this recipient, it is what the client wrote.
func TestResolvedRecipient(t *testing.T) {
	b := start(t, Options{}, clean)
	for mta, want := range map[string]string{
		"Postfix 3.7.11": "[anna@example.test bert@example.test]",
		"8.17.1":         "[Anna <anna@example.test bert@example.test]",
	} {
		w := dialWire(t, b.addr, offerAll)
		w.send('D', "Cv\x00"+mta+"\x00")
		w.send('C', "h\x004\x00\x19192.0.2.1\x00")
		w.send('M', "<s>\x00")
		w.send('D', "R{rcpt_addr}\x00anna@example.test\x00")
		w.send('R', "<Anna <anna@example.test>>\x00")
		w.send('R', "<bert@example.test>\x00")
		w.send('E', "")
		for code := byte('i'); code != 'c'; {
			var err error
			if code, _, err = w.receive(); err != nil {
				t.Fatal(err)
			}
		}
		lines := b.lines()
		if got := fmt.Sprint(lines[len(lines)-1]["to"]); got != want {
			t.Errorf("%s: %s, want %s", mta, got, want)
		}
	}
}

func TestMacros(t *testing.T) {
	b := start(t, Options{SkipAuthenticated: true}, clean)
	w := dialWire(t, b.addr, offerAll)
	message := func(stages ...string) {
		for _, s := range append(stages, "E") {
			w.send(s[0], s[1:])
		}
		code := byte('i')
		for code != 'c' {
			var err error
			if code, _, err = w.receive(); err != nil {
				t.Fatal(err)
			}
		}
	}
	message("DMi\x00sendmail\x00{auth_authen}\x00\x00", "M<s>\x00", "DRr\x00x\x00", "R<r>\x00", "N")
	message("M<s>\x00", "R<r>\x00", "N", "DEi\x00postfix\x00")
	w.send('A', "")
	message("M<s>\x00", "R<r>\x00", "N")                                       // no macros: none of the previous message
	message("DM{auth_authen}\x00alice\x00", "M<s>\x00", "R<r>\x00", "A")       // the abort drops the sender
	message("M<s>\x00", "R<r>\x00", "DNi\x00eoh\x00", "N", "DEx\x00later\x00") // kept beyond a later packet
	want := []string{"sendmail ", "postfix ", " ", " ", "eoh "}
	for i, line := range b.lines() {
		if got := fmt.Sprintf("%s %s", line["queue_id"], line["reason"]); got != want[i] {
			t.Errorf("message %d: %q, want %q", i, got, want[i])
		}
	}
	t.Run("of the connection", func(t *testing.T) {
		w := dialWire(t, b.addr, offerAll)
		w.send('D', "C{auth_authen}\x00alice\x00")
		w.send('C', "h\x004\x00\x19192.0.2.1\x00")
		for range 2 {
			w.send('M', "<s>\x00")
			w.send('E', "")
			w.expect("c") // no header for an authenticated sender
			w.send('A', "")
		}
	})
}

// The library keeps every header of a connection until an ABORT, which Sendmail never
// sends. Macros apply to the next command only.
func TestSessionEmptiesTheLibrarysMap(t *testing.T) {
	s := NewServer(nil, Options{})
	x := &session{conn: &conn{Conn: new(door.Conn), server: s, holder: new(room.Client)}, server: s}
	defer x.drop()
	x.pending = protocol.Known{QueueID: "Q"}
	m := &gomilter.Modifier{Headers: textproto.MIMEHeader{"A": {"b"}}}
	if _, err := x.Header("A", "b", m); err != nil {
		t.Fatal(err)
	}
	if len(m.Headers) > 0 || x.pending != (protocol.Known{}) {
		t.Errorf("left in the library: %v, pending %+v", m.Headers, x.pending)
	}
	if x.msg.QueueID != "Q" || len(x.msg.header) != 1 {
		t.Errorf("message %+v", x.msg)
	}
}

func TestNothingLeaksIntoTheNextMessage(t *testing.T) {
	b := start(t, Options{CountRecipients: true, CountNetworks: prefixes("127.0.0.0/8")}, clean)
	m := dial(t, "tcp", b.addr, offerOld, "192.0.2.1")
	m.must(m.Mail("given.up@example.org", nil)) // and no ABORT, as with Sendmail
	m.must(m.Rcpt("recipient@example.org", nil))
	m.must(m.HeaderField("Subject", "given up"))
	for i := range 3 {
		m.send(mail{header: []string{fmt.Sprintf("Subject: %d", i), "Message-ID: <1@x>"}, rcpts: 3 - i, body: fmt.Sprint("body ", i)})
	}
	for i, j := range b.contents() {
		if len(j.content.Header) != 2 || j.content.Header[0].Value != fmt.Sprint(i) ||
			string(j.content.Body) != fmt.Sprint("body ", i) || j.sightings != uint32(3-i) {
			t.Errorf("message %d: %+v", i, j)
		}
	}
}

func TestContentIsExact(t *testing.T) {
	b := start(t, Options{}, clean)
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	var body strings.Builder
	for i := range 20_000 { // several chunks
		fmt.Fprintf(&body, "line %d\r\n", i)
	}
	m.send(mail{header: []string{"X-Folded: a\n\tb", "X-8bit: \xe4\xff", "X-Folded: again"}, rcpts: 5, body: body.String()})
	m.send(mail{})
	got := b.contents()
	want := []signature.Field{{Name: "X-Folded", Value: "a\n\tb"}, {Name: "X-8bit", Value: "\xe4\xff"}, {Name: "X-Folded", Value: "again"}}
	if !slices.Equal(got[0].content.Header, want) || string(got[0].content.Body) != body.String() || got[0].content.Truncated {
		t.Errorf("header %q, %d body bytes", got[0].content.Header, len(got[0].content.Body))
	}
	if got[0].sightings != 1 {
		t.Errorf("counted %d times, want once for a message", got[0].sightings)
	}
	if len(got[1].content.Header)+len(got[1].content.Body) != 0 {
		t.Errorf("message of 0 bytes: %+v", got[1])
	}
}

func TestFailureCostsOneMessage(t *testing.T) {
	for _, test := range []struct {
		name, cause string
		o           Options
		header      []string
		code        gomilter.ActionCode
	}{
		{"panic passes", "error", Options{}, []string{"+0 X-Spambloom: failed; reason=error; site=mx1"}, 'c'},
		{"panic tempfails", "error", Options{Tempfail: struct{ Overload, Error, Deadline bool }{Error: true}}, nil, 'y'},
		{"deadline passes", "deadline", Options{JudgeTimeout: time.Millisecond}, []string{"+0 X-Spambloom: failed; reason=deadline; site=mx1"}, 'c'},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			release, ln := make(chan struct{}), newMemoryListener()
			b := startOn(t, ln, test.o, func(j judged) policy.Decision {
				switch {
				case len(j.content.Header) == 0: // the message after it
				case test.cause == "error":
					panic("by the test")
				default:
					<-release
				}
				return clean(j)
			})
			m := dialBy(t, ln, "", "", "192.0.2.1")
			changes, answer := m.send(mail{header: []string{"Subject: fail"}, body: "x", macros: []string{"i", "4QX"}})
			close(release)
			if answer.Code == 'y' && answer.SMTPText != "4.7.1 Try again later: not judged" {
				t.Errorf("reply %q", answer.SMTPText)
			}
			if got := changed(changes); !slices.Equal(got, test.header) || answer.Code != test.code {
				t.Errorf("changes %q, answer %q", got, answer.Code)
			}
			b.Reload(Options{Log: b.options.Load().Log, Site: "mx2"})
			changes, _ = m.send(mail{body: "x"})
			if got := changed(changes); !slices.Equal(got, []string{"+0 X-Spambloom: clean; count=0; sites=0; site=mx2"}) {
				t.Errorf("next message: %q", got)
			}
			if n := b.metric("spambloom_milter_failures_total", test.cause); n != 1 {
				t.Errorf("failures metric %v", n)
			}
			lines := b.log.lines(t, "message not judged")
			if len(lines) != 1 || lines[0]["cause"] != test.cause || lines[0]["queue_id"] != "4QX" || (test.cause == "error") != (lines[0]["stack"] != nil) {
				t.Errorf("log %v", lines)
			}
			if n := b.metric("spambloom_messages_total", "failed"); n != 1 {
				t.Errorf("messages metric %v", n)
			}
		})
	}
}

// A panic in the session's own code, here from a missing metric, must not end the
// connection either.
func TestPanicInSession(t *testing.T) {
	b := start(t, Options{}, clean)
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	messages := b.metrics.Messages
	b.metrics.Messages = nil
	if _, answer := m.send(mail{body: "x"}); answer.Code != 'c' {
		t.Errorf("answer %q", answer.Code)
	}
	b.metrics.Messages = messages
	m.send(mail{body: "x"})
	if len(b.lines()) != 1 || b.metric("spambloom_milter_failures_total", "error") != 1 {
		t.Errorf("log %s", b.log.String())
	}
}

func TestProgressWhileJudging(t *testing.T) {
	release := make(chan struct{})
	b := start(t, Options{}, func(j judged) policy.Decision { <-release; return clean(j) })
	b.Server.progress = time.Millisecond
	w := dialWire(t, b.addr, offerAll)
	w.send('M', "<s>\x00")
	w.send('E', "")
	w.expect("ppp")
	close(release)
	code := byte('p')
	for code == 'p' {
		code, _, _ = w.receive()
	}
	if code != 'i' {
		t.Errorf("answer %q after the progress packets", code)
	}
	w.expect("c")
}

func TestOneLogLine(t *testing.T) {
	b := start(t, Options{}, func(judged) policy.Decision {
		other := someSignature
		other.Kind = signature.KindBody
		return policy.Decision{Verdict: policy.Spam, Action: policy.Tag, Signatures: []signature.Signature{someSignature, other}, Count: 12, Sites: 2}
	})
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	m.send(mail{header: []string{"Message-Id: \n\t<1@x>", "From: from@example.org"}, body: "12345", macros: []string{"i", "4QX"}})
	line := b.lines()[0]
	for key, want := range map[string]any{"queue_id": "4QX", "message_id": "<1@x>", "client": "192.0.2.1",
		"verdict": "spam", "action": "tag", "reason": "", "kinds": "text,body", "count": 12., "sites": 2.,
		"listener": "listener", "from": "sender@example.org", "recipients": 1.,
		"ids": "text:ab010203040506ef,body:ab010203040506ef", "size": 42.} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
	if took, ok := line["duration_ms"].(float64); !ok || took < 0 {
		t.Errorf("duration_ms is %v", line["duration_ms"])
	}
	if log := b.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, `"to":["recipient@example.org"]`) || strings.Contains(log, "from@example.org") {
		t.Errorf("log %s", log)
	}
}

func TestSiteIsSanitised(t *testing.T) {
	d := policy.Decision{Verdict: policy.Clean, Signatures: []signature.Signature{someSignature}}
	got := header.Value(d, "a\r\nX-Evil: 1; x\x00\x7f\u00e4")
	if want := "clean; kind=text; count=0; sites=0; site=a__X-Evil:_1__x___; id=text:ab010203040506ef"; got != want {
		t.Errorf("header %q, want %q", got, want)
	}
}
