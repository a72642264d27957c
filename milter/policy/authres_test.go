package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
)

// fields splits a header like an MTA: a line that begins with white space continues the
// field before it.
func fields(header string) (list []signature.Field) {
	for line := range strings.Lines(header) {
		line = strings.TrimRight(line, "\n")
		if line != "" && (line[0] == ' ' || line[0] == '\t') && len(list) > 0 {
			list[len(list)-1].Value += "\n" + line
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		list = append(list, signature.Field{Name: name, Value: strings.TrimPrefix(value, " ")})
	}
	return list
}

// short shows results as "dkim=pass header.d=a,spf=none".
func short(results []result) string {
	var all []string
	for _, r := range results {
		one := r.method + "=" + r.value
		for _, p := range r.properties {
			one += " " + p.name + "=" + p.value
		}
		all = append(all, one)
	}
	return strings.Join(all, ",")
}

func TestParseResults(t *testing.T) {
	const bad = "does not parse"
	for _, test := range []struct{ field, want string }{
		// RFC 8601, appendix B.
		{"example.org 1; none", ""},
		{"example.com;\n spf=pass smtp.mailfrom=example.net", "spf=pass smtp.mailfrom=example.net"},
		{"example.com;\n\tauth=pass (cram-md5) smtp.auth=sender@example.net;\n\tspf=pass smtp.mailfrom=example.net",
			"auth=pass smtp.auth=sender@example.net,spf=pass smtp.mailfrom=example.net"},
		{"example.com; sender-id=fail header.from=example.com;\n dkim=pass (good signature) header.d=example.com",
			"sender-id=fail header.from=example.com,dkim=pass header.d=example.com"},
		{"example.com;\n dkim=pass reason=\"good signature\"\n header.i=@mail-router.example.net;\n dkim=fail reason=\"bad signature\"\n header.i=@newyork.example.com",
			"dkim=pass reason=good signature header.i=@mail-router.example.net,dkim=fail reason=bad signature header.i=@newyork.example.com"},

		{"a.example;none", ""},
		{"a.example ; (c) none (d)", ""},
		{"a.example; DKIM=Pass header.D=Example.ORG", "dkim=pass header.d=Example.ORG"},
		{"a.example; (c)dkim=pass (c)(d)header.(e)d=(f)b.example;", "dkim=pass header.d=b.example"},
		{"a.example; dkim/1 = pass header . d = b.example (c)", "dkim=pass header.d=b.example"},
		{`a.example; spf=pass smtp.mailfrom="a; dkim=pass"@b.example`, "spf=pass smtp.mailfrom=a; dkim=pass@b.example"},
		{`a.example; spf=pass smtp.mailfrom="a\"b"@b.example`, `spf=pass smtp.mailfrom=a"b@b.example`},
		{"a.example; spf=pass (a (b (c) \\) d); dkim=pass) smtp.mailfrom=b.example", "spf=pass smtp.mailfrom=b.example"},
		{"a.example; dkim=pass header.b=ab/c+d=e header.i=@b.example", "dkim=pass header.b=ab/c+d=e header.i=@b.example"},
		{"a.example; iprev=pass policy.iprev=2001:db8::1", "iprev=pass policy.iprev=2001:db8::1"},
		{"a.example; x-tls=pass smtp.bits=256/256", "x-tls=pass smtp.bits=256/256"},

		{"a.example", bad},
		{"a.example;", bad},
		{"a.example; ;", bad},
		{"a.example; dkim", bad},
		{"a.example; dkim=", bad},
		{"a.example; =pass", bad},
		{"a.example; dkim=pass header", bad},
		{"a.example; dkim=pass header.", bad},
		{"a.example; dkim=pass header.d", bad},
		{"a.example; dkim=pass header.d=", bad},
		{"a.example; dkim=pass header.d=(c)", bad},
		{"a.example; dkim=pass header.d=b.example, c.example", bad},
		{"a.example; dkim=pass action=none", bad},
		{"a.example; dkim=pass (c", bad},
		{"a.example; dkim=pass (c))", bad},
		{"a.example; dkim=pass (c\\)", bad},
		{`a.example; dkim=pass reason="c`, bad},
		{`a.example; dkim=pass reason="c\`, bad},
		{"a.example; dkim=pass header.d=b\\.example", bad},
		{"a.example 2; dkim=pass", bad},
		{"a.example 11; dkim=pass", bad},
		{"a.example 1 1; dkim=pass", bad},
		{"a.example; dkim/2=pass", bad},
		{"a.example; none; dkim=pass", bad},
		{"a.example; dkim=pass; none", bad},
		{"a.example; none none", bad},
		{"a.example;; dkim=pass", bad},
		{"a.example; dkim=pass header.d=b.example\x00", bad},
		{"a.example; dkim=pass " + strings.Repeat("(c)", maxResults/3), bad},

		// Valid by RFC 8601, but OpenDKIM 2.11.0 cannot parse it and therefore leaves it in
		// place.
		{"foo.example.net (foobar) 1 (baz);\n dkim (Because I like it) / 1 (One yay) = (wait for it) fail\n policy (A dot can go here) . (like that) expired\n (this surprised me) = (as I wasn't expecting it) 1362471462", bad},
		{"a.example; dkim /1=pass", bad},
		{"a.example; dkim/ 1=pass", bad},
		{"a.example; dkim(c)=pass", bad},
		{"a.example; dkim=pass(c) header.d=b.example", bad},
		{"a.example; dkim=pass header(c).d=b.example", bad},
		{"a.example; dkim=pass header.d(c)=b.example", bad},
		{"a.example; dkim=pass header.d=b.example(c)", bad},
		{"a.example; dkim=pass HEADER.d=b.example", bad},
		{"a.example; dkim=pass header.d=b.example dns.zone=x", bad},
		{"a.example; dkim=pass header.d=b.example reason=x", bad},
		{"a.example; dkim=pass reason=x reason=y", bad},
		{"a.example; dkim=pass reason=x.y", bad},
		{"a.example; dkim=pass reason=\"x\"=y", bad},
		{"a.example; dkim=pass reason=\"x.y\"", "dkim=pass reason=x.y"},
		{"a.example; dkim=pass header.d=b.example header.b=x=; spf=none", bad},
		{"a.example; dkim=pass header.d=b.example.; spf=none", bad},
		{"a.example; dkim=pass header.d=.b.example", bad},
		{"a.example; dkim=pass header.d=b..example", bad},
		{"a.example; dkim=pass header.d=b.=example", bad},
		{"a.example" + strings.Repeat("; dkim=none", maxMethods+1), bad},
		{"a.example; dkim=none" + strings.Repeat(" header.d=x", maxProperties+1), bad},
		{"a.example; dkim=none reason=" + strings.Repeat("x", maxResults), bad},
		{"a.example; dkim=none" + strings.Repeat(" (x)", maxWords/2), bad},
	} {
		_, rest, ok := cutAuthservID(test.field)
		if !ok {
			t.Fatalf("%q: no authserv-id", test.field)
		}
		results, ok := parseResults(rest)
		got := short(results)
		if !ok {
			got = bad
		}
		if got != test.want {
			t.Errorf("%q:\n %s, want\n %s", test.field, got, test.want)
		}
	}
}

func TestAuthservID(t *testing.T) {
	for value, want := range map[string]string{
		"mx.example.org; none":     "mx.example.org",
		"\n\tmx.example.org; none": "mx.example.org",
		"mx.example.org 1; none":   "mx.example.org",
		"mx.example.org (c); none": "mx.example.org",
		"mx.example.org":           "mx.example.org",
		"MX-1_a; none":             "MX-1_a",
		// Valid, but software that removes forged fields does not recognise it.
		"(c) mx.example.org; none":   "",
		"mx.example.org(c); none":    "",
		`"mx.example.org"; none`:     "",
		`"mx.ex\ample.org"; none`:    "",
		"mx.example.org\\; none":     "",
		"mx.example.org@x; none":     "",
		"mx.example.org\u200b; none": "",
		"; none":                     "",
		"":                           "",
	} {
		id, _, ok := cutAuthservID(value)
		if !ok {
			id = ""
		}
		if id != want {
			t.Errorf("%q: id %q, want %q", value, id, want)
		}
	}
}

func FuzzParseResults(f *testing.F) {
	for _, seed := range []string{
		"mx.example.test;\n\tdkim=pass (2048-bit key) header.d=bank.example header.i=@bank.example;\n\tdkim-atps=neutral",
		`a 1; spf=pass smtp.mailfrom="a;\" b"@c (d (e)\)); none`,
		"a; none", "a; dkim/1=pass reason=\"x\" policy.a_b=c;",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		id, rest, ok := cutAuthservID(field)
		if !ok {
			return
		}
		results, ok := parseResults(rest)
		if !ok {
			return
		}
		// Results written plainly parse to the same results.
		plain := "; none"
		for i, r := range results {
			if i == 0 {
				plain = ""
			}
			plain += "; " + r.method + "=" + r.value
			for _, p := range r.properties {
				quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p.value)
				plain += fmt.Sprintf(` %s="%s"`, p.name, quoted)
			}
		}
		again, ok := parseResults(plain)
		if len(plain) <= maxResults && (!ok || short(again) != short(results)) {
			t.Errorf("%q of %q: %q, written %q: %q, %v", field, id, short(results), plain, short(again), ok)
		}
	})
}
