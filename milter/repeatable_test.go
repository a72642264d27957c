package milter

import (
	"fmt"
	"strings"
	"testing"

	gomilter "github.com/emersion/go-milter"
)

// No part of a message may make its verifier write a pass. The results are those that
// OpenDKIM 2.11.0 and policyd-spf 3.0.4 write in each case.
func TestRepeatable(t *testing.T) {
	const (
		pass = "Authentication-Results: mx.example.test; dkim=pass header.d=bank.example header.i=@bank.example\n"
		from = "From: a@bank.example\n"
	)
	signature := func(tags string) string {
		return "DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/simple; " + tags + " h=From;\n\tbh=6u3j+w==; b=NLnKGIKC\n\t83hj/A==;"
	}
	for _, test := range []struct {
		name, helo, to, header string
		want                   bool
	}{
		{"plain", "client.example", "you@here.example", signature("d=bank.example; s=s1; i=a+b_c@mail.bank.example;"), true},
		{"without i", "", "you+x@here.example", signature("d = bank.example ;\n\ts=2026-11._x ; t=1700000000; z=From:a=40b=3B=20c|X:(d);"), true},
		{"signed twice", "[192.0.2.1]", "", signature("d=a.example; s=s1;") + "\n" + signature("d=bank.example; s=s1;"), true},
		{"address of IPv6", "[IPv6:2001:db8::1]", "you@localhost", "ARC-Seal: i=1; a=rsa-sha256; cv=none; d=list.example; s=arc; b=NLnK", true},

		{"OpenDKIM's identity with a result in it", "", "", signature("d=evil.example; s=s1; i=x=3B=20dkim=3Dpass=20header.d=3Dbank.example=20reason=3D@evil.example;"), false},
		{"the same below another", "", "", signature("d=a.example; s=s1;") + "\n" + signature("d=evil.example; s=s1; i=x=3B@evil.example;"), false},
		{"the same in another case", "", "", "dkim-SIGNATURE : V=1; I=x=3B@evil.example", false},
		{"the same twice in one", "", "", signature("i=@evil.example; i=x=3B@evil.example; d=evil.example;"), false},
		{"domain with a blank", "", "", signature("d=bank.example header.x=y.evil.example; s=s1;"), false},
		{"domain folded", "", "", signature("d=bank.example\n\theader.x=y.evil.example; s=s1;"), false},
		{"selector with a comment", "", "", signature("d=evil.example; s=x(y;"), false},
		{"signature with a comment", "", "", "DKIM-Signature: d=evil.example; b=AAA(", false},
		{"algorithm in quotes", "", "", `DKIM-Signature: d=evil.example; a="rsa`, false},
		{"domain of a chain", "", "", "ARC-Seal: i=1; d=bank.example (; s=s1", false},
		{"domain of a chain's message", "", "", "ARC-Message-Signature: i=1; d=bank.example (; s=s1", false},
		{"HELO", "x) ; dkim=pass header.d=bank.example (y", "", "", false},
		{"HELO that is cut off", strings.Repeat("x", 500), "", "", false},
		{"recipient", "", `you+"x) ; dkim=pass header.d=bank.example (y"@here.example`, "", false},
		{"second recipient", "", `you@here.example x);@here.example`, "", false},
		{"recipient that was not kept", "", "you@here.example ...", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := &envelope{sender: "a@evil.example", helo: bounded(test.helo)}
			for _, r := range strings.Split(test.to, " ") {
				if e.count++; r != "..." {
					e.recipients = append(e.recipients, r)
				}
			}
			if got := authenticFrom(e, fields(pass+from+test.header), mx); (got != "") != test.want {
				t.Errorf("%q is trusted, want %v", got, test.want)
			}
		})
	}
}

// The rules receive a session's HELO name and a sender longer than permitted.
func TestEnvelopeOfSession(t *testing.T) {
	db := openDB(t)
	o := Options{AuthservID: mx, Allow: house, Policy: Policy{Spam: Reject}}
	b := start(t, o, nil)
	b.Server.db = db
	if err := db.Report(letter.set(), 0); err != nil {
		t.Fatal(err)
	}
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
		strings.Repeat("x", maxAddress-len("@list.example")) + "@list.example":                "allow:senders",
		strings.Repeat("x", maxAddress-len("@list.example")) + "@list.example.evil.example":   "",
		strings.Repeat("x", maxAddress+1-len("@list.example")) + "@list.example.evil.example": "",
		strings.Repeat("x", 1000) + "@list.example":                                           "",
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
func TestHeloOfClientBefore(t *testing.T) {
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
