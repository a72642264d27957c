package policy

import (
	"strings"
	"testing"
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
		{"signed by fifty forwarders", "", "", strings.Repeat(signature("d=list.example; s=s1; b="+strings.Repeat("A", 4000)+";")+"\n", 50), true},
		{"more signatures than anybody reads", "", "", strings.Repeat(signature(strings.Repeat(";", 90_000))+"\n", 3), false},
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
			e := &Envelope{Sender: "a@evil.example", Helo: test.helo}
			for _, r := range strings.Split(test.to, " ") {
				if e.Count++; r != "..." {
					e.Recipients = append(e.Recipients, r)
				}
			}
			if got := authenticFrom(e, fields(pass+from+test.header), mx); (got != "") != test.want {
				t.Errorf("%q is trusted, want %v", got, test.want)
			}
		})
	}
}
