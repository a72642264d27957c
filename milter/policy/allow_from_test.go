package policy

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
)

// mx is the authserv-id of the site in these tests.
const mx = "mx.example.test"

// Fields as verifiers write them. The first four were written by OpenDKIM 2.11.0, OpenDMARC
// 1.4.2 and policyd-spf 3.0.4 with Postfix 3.7.11, and seen by a milter after them. The
// others follow their documentation and sources.
func TestAuthenticFrom(t *testing.T) {
	for _, test := range []struct{ name, sender, header, want string }{
		{"OpenDKIM", "a@bounces.example", `DMARC-Filter: OpenDMARC Filter v1.4.2 mx.example.test B189498A00B
Authentication-Results: mx.example.test; dmarc=none (p=none dis=none) header.from=bank.example
Authentication-Results: mx.example.test; spf=none smtp.mailfrom=bounces.example
DKIM-Filter: OpenDKIM Filter v2.11.0 mx.example.test B189498A00B
Authentication-Results: mx.example.test;
	dkim=pass (2048-bit key) header.d=bank.example header.i=@bank.example header.a=rsa-sha256 header.s=s1 header.b=LSmqu9eV;
	dkim-atps=neutral
From: "Bank, Inc." <a@bank.example>`, "a@bank.example"},
		{"OpenDKIM, failed", "a@bank.example", `Authentication-Results: mx.example.test;
	dkim=fail reason="signature verification failed" (2048-bit key) header.d=bank.example header.i=@bank.example header.a=rsa-sha256 header.s=s1 header.b=LSmqu9eV;
	dkim-atps=neutral
From: a@bank.example`, ""},
		{"policyd-spf", "b@bank.example", `Authentication-Results: mx.example.test; spf=pass (sender SPF authorized) smtp.mailfrom=bank.example (client-ip=192.0.2.7; helo=client.example.net; envelope-from=b@bank.example; receiver=example.test)
From: A <a@bank.example>`, "a@bank.example"},
		{"OpenDMARC", "", `DMARC-Filter: OpenDMARC Filter v1.4.2 mx.example.test B189498A00B
Authentication-Results: mx.example.test; dmarc=pass (p=reject dis=none) header.from=bank.example
From: a@bank.example`, "a@bank.example"},
		{"rspamd", "b@bank.example", `X-Spamd-Bar: --
Authentication-Results: mx.example.test;
	dkim=pass header.d=bank.example header.s=s1 header.b=ab/c+d;
	spf=pass (mx.example.test: domain of b@bank.example designates 192.0.2.7 as permitted sender) smtp.mailfrom=b@bank.example;
	dmarc=pass (policy=reject) header.from=bank.example
From: a@bank.example`, "a@bank.example"},
		{"Gmail's form, dmarc alone", "b@x.example", `ARC-Seal: i=1; a=rsa-sha256
ARC-Message-Signature: i=1; a=rsa-sha256
ARC-Authentication-Results: i=1; mx.example.test; dkim=fail
Received-SPF: pass (google.com: domain of b@x.example designates 192.0.2.7 as permitted sender) client-ip=192.0.2.7;
Authentication-Results: mx.example.test;
       dkim=pass header.i=@bank.example header.s=20230601 header.b=FXkIeaTL;
       spf=pass (google.com: domain of b@x.example designates 192.0.2.7 as permitted sender) smtp.mailfrom=b@x.example;
       dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=bank.example
From: a@bank.example`, "a@bank.example"},
		{"Exim", "b@bank.example", `Authentication-Results: mx.example.test;
	iprev=pass (client.example.net) smtp.remote-ip=192.0.2.7;
	spf=pass smtp.mailfrom=bank.example;
	arc=none
From: a@bank.example`, "a@bank.example"},
		{"case", "B@BANK.example", `AUTHENTICATION-results: MX.Example.Test; SPF=Pass smtp.MailFrom=B@Bank.Example
FROM: A@BANK.EXAMPLE`, "a@bank.example"},
		{"several signatures", "", `Authentication-Results: mx.example.test; dkim=fail header.d=list.example; dkim=pass header.d=bank.example
From: a@bank.example`, "a@bank.example"},
		{"signed above", "", `Authentication-Results: mx.example.test; dkim=pass header.d=bank.example
From: a@mail.bank.example`, "a@mail.bank.example"},
		{"signed below", "", `Authentication-Results: mx.example.test; dkim=pass header.d=mail.bank.example
From: a@bank.example`, "a@bank.example"},
		{"international", "", `Authentication-Results: mx.example.test; dkim=pass header.d=xn--bcher-kva.example
From: A@Bücher.example`, "a@xn--bcher-kva.example"},
		{"international, signed below", "", `Authentication-Results: mx.example.test; dkim=pass header.d=mail.BÜCHER.example
From: a@xn--bcher-kva.example`, "a@xn--bcher-kva.example"},
		{"international, dmarc", "", `Authentication-Results: mx.example.test; dmarc=pass header.from=bücher.example
From: a@bücher.example`, "a@xn--bcher-kva.example"},
		{"international, spf", "b@bücher.example", `Authentication-Results: mx.example.test; spf=pass smtp.mailfrom=b@xn--bcher-kva.example
From: a@mail.bücher.example`, "a@mail.xn--bcher-kva.example"},
		{"sharp s, in ASCII", "", `Authentication-Results: mx.example.test; dkim=pass header.d=xn--strae-oqa.example
From: a@straße.example`, "a@xn--strae-oqa.example"},
		{"one method a field", "a@bank.example", `Authentication-Results: mx.example.test; dmarc=none
Authentication-Results: other.example; spf=fail
Authentication-Results: mx.example.test; spf=pass smtp.mailfrom=bank.example
From: a@bank.example`, "a@bank.example"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := authenticFrom(&Envelope{Sender: test.sender}, fields(test.header), mx)
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			if other := authenticFrom(&Envelope{Sender: test.sender}, fields(test.header), "mx2.example.test"); other != "" {
				t.Errorf("of another site: %q", other)
			}
			if none := authenticFrom(&Envelope{Sender: test.sender}, fields(test.header), ""); none != "" {
				t.Errorf("without an authserv-id: %q", none)
			}
		})
	}
}

// Attempts to pass for a@bank.example.
func TestForgedFrom(t *testing.T) {
	const (
		pass = "Authentication-Results: mx.example.test; dkim=pass header.d=bank.example; dmarc=pass header.from=bank.example\n"
		from = "From: a@bank.example"
	)
	if got := authenticFrom(&Envelope{Sender: "a@evil.example"}, fields(pass+from), mx); got != "a@bank.example" {
		t.Fatalf("unforged: %q", got)
	}
	results := func(s string) string { return "Authentication-Results: mx.example.test; " + s + "\n" + from }
	for _, test := range []struct{ name, sender, header string }{
		{"no results", "", from},
		{"another's results", "", "Authentication-Results: mx.example.tes; dkim=pass header.d=bank.example\n" + from},
		{"id that begins alike", "", "Authentication-Results: mx.example.test.evil.example; dkim=pass header.d=bank.example\n" + from},
		{"id that ends alike", "", "Authentication-Results: evil.mx.example.test; dkim=pass header.d=bank.example\n" + from},
		{"id with a dot behind", "", "Authentication-Results: mx.example.test.; dkim=pass header.d=bank.example\n" + from},
		{"id behind a comment", "", "Authentication-Results: (c) mx.example.test; dkim=pass header.d=bank.example\n" + from},
		{"id in quotes", "", "Authentication-Results: \"mx.example.test\"; dkim=pass header.d=bank.example\n" + from},
		{"id in a comment", "", "Authentication-Results: evil.example (mx.example.test; dkim=pass header.d=bank.example)\n" + from},
		{"field's name with a blank", "", "Authentication-Results : mx.example.test; dkim=pass header.d=bank.example\n" + from},
		{"field's name with a long s", "", "Authentication-Re\u017fults: mx.example.test; dkim=pass header.d=bank.example\n" + from},
		{"original results", "", "X-Original-Authentication-Results: mx.example.test; dkim=pass header.d=bank.example\n" + from},
		{"ARC's results", "", "ARC-Authentication-Results: i=1; mx.example.test; dkim=pass header.d=bank.example\n" + from},
		{"below Received", "", "Received: from evil.example by mx.example.test\n" + pass + from},
		{"below From", "", from + "\n" + pass},
		{"signature of the beginning", "", pass + "DKIM-Signature: v=1; a=rsa-sha256; d=bank.example; s=s1;\n\tl=120; h=From; b=AAA=\n" + from},
		{"signature of the beginning, folded", "", pass + "dkim-signature : v=1; d=bank.example;\n L\n = 0;b=AAA=\n" + from},
		{"below DKIM-Signature", "", "DKIM-Signature: v=1; d=bank.example\n" + pass + from},
		{"below many fields", "", strings.Repeat("X-A: b\n", maxTop) + pass + from},
		{"below a failure", "", "Authentication-Results: mx.example.test; dkim=fail header.d=bank.example; dmarc=fail header.from=bank.example\n" + pass + from},
		{"below none", "", "Authentication-Results: mx.example.test; dkim=none; dmarc=none\n" + pass + from},
		{"below what does not parse", "", "Authentication-Results: mx.example.test; dkim=fail (\n" + pass + from},
		{"below what is too long", "", "Authentication-Results: mx.example.test; dkim=fail (" + strings.Repeat("c", maxResults) + ")\n" + pass + from},
		{"below another version", "", "Authentication-Results: mx.example.test 2; dkim=fail\n" + pass + from},

		{"another domain signed", "", results("dkim=pass header.d=evil.example")},
		{"domain that ends alike signed", "", results("dkim=pass header.d=evilbank.example")},
		{"sibling signed", "", "Authentication-Results: mx.example.test; dkim=pass header.d=b.bank.example\nFrom: a@a.bank.example"},
		{"top level signed", "", results("dkim=pass header.d=example")},
		{"public suffix signed", "", "Authentication-Results: mx.example.test; dkim=pass header.d=co.uk\nFrom: a@bank.co.uk"},
		{"below a public suffix signed", "", "Authentication-Results: mx.example.test; dkim=pass header.d=evil.github.io\nFrom: a@github.io"},
		{"two domains signed", "", results("dkim=pass header.d=evil.example header.d=bank.example")},
		{"identity alone", "", results("dkim=pass header.i=@bank.example")},
		{"domain in a comment", "", results("dkim=pass (header.d=bank.example) header.d=evil.example")},
		{"domain in quotes", "", results(`dkim=pass header.d="bank.example "`)},
		{"domain in a reason", "", results(`dkim=fail reason="; dkim=pass header.d=bank.example"`)},
		{"pass in a value", "", results(`dkim=fail header.d="bank.example; dkim=pass"`)},
		{"what is no domain signed", "", results(`dkim=pass header.d="evil.example .bank.example"`)},
		{"passed", "", results("dkim=passed header.d=bank.example")},
		{"softfail", "a@bank.example", results("spf=softfail smtp.mailfrom=bank.example")},
		{"another method", "", results("x-dkim=pass header.d=bank.example; sender-id=pass header.from=bank.example; arc=pass header.d=bank.example")},
		{"dmarc of another", "", results("dmarc=pass header.from=evil.example")},
		{"dmarc above", "", "Authentication-Results: mx.example.test; dmarc=pass header.from=bank.example\nFrom: a@mail.bank.example"},
		{"dmarc without a domain", "", results("dmarc=pass")},
		{"spf of another", "a@evil.example", results("spf=pass smtp.mailfrom=a@evil.example")},
		{"spf of another message", "a@evil.example", results("spf=pass smtp.mailfrom=bank.example")},
		{"spf of a bounce", "", results("spf=pass smtp.mailfrom=bank.example")},
		{"spf of HELO", "", results("spf=pass smtp.helo=bank.example")},
		{"spf with the domain in the local part", "bank.example@evil.example", results("spf=pass smtp.mailfrom=bank.example@evil.example")},
		{"policyd-spf's comment closed", `"x) ; dkim=pass header.d=bank.example (y"@evil.example`,
			results("spf=none (no SPF record) smtp.mailfrom=evil.example (client-ip=192.0.2.7; helo=h.example; envelope-from=x) ; dkim=pass header.d=bank.example (y@evil.example; receiver=example.test)")},
		{"sharp s, of which the verifier asked for ss", "a@straße.example", "Authentication-Results: mx.example.test; dkim=pass header.d=straße.example; spf=pass smtp.mailfrom=straße.example; dmarc=pass header.from=straße.example\nFrom: a@straße.example"},
		{"full-width letters signed", "", results("dkim=pass header.d=\uff42ank.example")},
		{"ideographic full stop signed", "", results("dkim=pass header.d=evil\u3002bank.example")},
		{"sign for Kelvin signed", "", results("dkim=pass header.d=ban\u212a.example; dmarc=pass header.from=ban\u212a.example")},
		{"soft hyphen signed", "", results("dkim=pass header.d=ba\u00adnk.example")},
		{"public suffix signed, international", "", "Authentication-Results: mx.example.test; dkim=pass header.d=рф\nFrom: a@банк.рф"},
		{"below a public suffix signed, international", "", "Authentication-Results: mx.example.test; dkim=pass header.d=公司.香港\nFrom: a@bank.公司.香港"},
		{"8-bit sender", "\u00e4@bank.example", results("spf=pass smtp.mailfrom=bank.example")},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := authenticFrom(&Envelope{Sender: test.sender}, fields(test.header), mx); got != "" {
				t.Errorf("%q is trusted", got)
			}
		})
	}
}

func TestHeaderFrom(t *testing.T) {
	for _, test := range []struct{ header, want string }{
		{"From: a@bank.example", "a@bank.example"},
		{"From:a@bank.example", "a@bank.example"},
		{"From: <a@bank.example>", "a@bank.example"},
		{"From: Ann Bank <A@Bank.example>", "a@bank.example"},
		{"From: Ann B. Bank\n\t<a@bank.example>", "a@bank.example"},
		{`From: "Bank, Inc." <a@bank.example>`, "a@bank.example"},
		{`From: "Ann \"B\" Bank" <a@bank.example>`, "a@bank.example"},
		{`From: "a@bank.example" <x@evil.example>`, "x@evil.example"},
		{`From: "a@bank.example, b" <x@evil.example>`, "x@evil.example"},
		{`From: "<a@bank.example>" <x@evil.example>`, "x@evil.example"},
		{"From: =?utf-8?q?a=40bank=2Eexample?= <x@evil.example>", "x@evil.example"},
		{"From: \u00c4nn <a@bank.example>", "a@bank.example"},
		{"From: \xc4nn <a@bank.example>", "a@bank.example"},
		{"From: a@bank.example (Ann Bank)", "a@bank.example"},
		{"From: (Ann) a+b=c@bank.example", "a+b=c@bank.example"},
		{"From: a@bank.example\nFrom : x@evil.example", ""},
		{"From : a@bank.example", ""},
		{"From: a@bank.example\nfrom: a@bank.example", ""},
		{"Sender: a@bank.example", ""},
		{"Resent-From: a@bank.example", ""},
		{"From: ", ""},
		{"From: <>", ""},
		{"From: Ann", ""},
		{"From: x@evil.example, a@bank.example", ""},
		{"From: a@bank.example,", ""},
		{"From: a@bank.example; x@evil.example", ""},
		{"From: a@bank.example x@evil.example", ""},
		{"From: a@bank.example <x@evil.example>", ""},
		{"From: <a@bank.example> <x@evil.example>", ""},
		{"From: <x@evil.example> a@bank.example", ""},
		{"From: <x@evil.example>, <a@bank.example>", ""},
		{"From: Ann <a@bank.example> (x@evil.example)", ""},
		{"From: a@bank.example (x@evil.example)", ""},
		{"From: (a@bank.example) x@evil.example", ""},
		{`From: "x@evil.example" a@bank.example`, ""},
		{"From: a@bank.example (a (b) c)", ""},
		{"From: a@bank.example (a", ""},
		{"From: Bank: a@bank.example;", ""},
		{"From: <@evil.example:a@bank.example>", ""},
		{"From: <a@evil.example@bank.example>", ""},
		{"From: <<a@bank.example>>", ""},
		{"From: <a@bank.example", ""},
		{"From: a@bank.example>", ""},
		{"From: < a@bank.example>", ""},
		{"From: <a@bank.example >", ""},
		{"From: <a@bank.\n example>", ""},
		{"From: a @ bank.example", ""},
		{"From: a@bank(c).example", ""},
		{`From: "a"@bank.example`, ""},
		{`From: "x@evil.example"@bank.example`, ""},
		{`From: <"x@evil.example> "@bank.example>`, ""},
		{`From: "Ann <a@bank.example>`, ""},
		{`From: "Ann\" <a@bank.example>`, ""},
		{`From: Ann\ <a@bank.example>`, ""},
		{"From: =?utf-8?q?x=40evil.example?=@bank.example", ""},
		{"From: =?utf-8?q?x?= <=?utf-8?q?y?=@bank.example>", ""},
		{"From: \u00e4@bank.example", ""},
		{"From: A@B\u00c4nk.example", "a@xn--bnk-qla.example"},
		{"From: <a@xn--bnk-qla.example>", "a@xn--bnk-qla.example"},
		{"From: a@ban\u212a.example", ""},
		{"From: a@\uff42ank.example", ""},
		{"From: a@evil.example\u3002bank.example", ""},
		{"From: a@bank.example\u200b", ""},
		{"From: a@bank.example\u3000<x@evil.example>", ""},
		{"From: a@b\xe4nk.example", ""},
		{"From: a@[192.0.2.1]", ""},
		{"From: a@localhost", ""},
		{"From: a@bank.example.", ""},
		{"From: a@.bank.example", ""},
		{"From: a@bank..example", ""},
		{"From: .a@bank.example", ""},
		{"From: a..b@bank.example", ""},
		{"From: a\x00@bank.example", ""},
		{"From: a\x00 <a@bank.example>", ""},
		{"From: a%evil.example@" + strings.Repeat("x.", 200) + "bank.example", ""},
	} {
		if got := new(Envelope).headerFrom(fields(test.header)); got != test.want {
			t.Errorf("%q: %q, want %q", test.header, got, test.want)
		}
	}
}

func FuzzMailbox(f *testing.F) {
	for _, seed := range []string{
		`"Bank, \"Inc.\"" (c) <a@bank.example>`, "a.b+c@bank.example (Ann)", "Ann B. <a@bank.example>",
		"<a@b.example>,<c@d.example>", "g: a@b.example;", "=?utf-8?q?a?= <a@b.example>", "A@B\u00fccher.example", "a@ban\u212a.example",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		address := new(Envelope).mailbox(value)
		if address == "" {
			return
		}
		// The address occurs in the field, except for the form of its domain, and a pattern
		// finds it.
		local, host, _ := cutAddress(address)
		written := strings.Contains(strings.ToLower(value), local+"@") && isDomain(host)
		if strings.IndexFunc(value, func(r rune) bool { return r > 0x7e }) < 0 {
			written = strings.Contains(strings.ToLower(value), address)
		}
		if !written || !hasAddress(newPatterns([]string{address}), address) {
			t.Errorf("%q: %q", value, address)
		}
		if again := new(Envelope).headerFrom([]signature.Field{{Name: "From", Value: "<" + address + ">"}}); again != address {
			t.Errorf("%q: %q, then %q", value, address, again)
		}
	})
}
