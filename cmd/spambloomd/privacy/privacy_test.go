package privacy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/config"
)

// discreet returns pseudonyms in use, with a key of that byte.
func discreet(key byte) *Pseudonyms {
	p := new(Pseudonyms)
	p.IsOn.Store(true)
	p.SetKey(bytes.Repeat([]byte{key}, 32))
	return p
}

func TestPseudonyms(t *testing.T) {
	p := discreet(1)
	for _, same := range [][]string{
		{"alice@example.org", "Alice@Example.ORG", "<alice@example.org>"},
		{"192.0.2.1", "::ffff:192.0.2.1"},
		{"2001:db8::1", "2001:DB8:0:0:0:0:0:1"},
		{"anna", "Anna"},
	} {
		for _, s := range same {
			if got := p.of(s); got != p.of(same[0]) || !regexp.MustCompile(`^h:[0-9a-f]{12}$`).MatchString(got) {
				t.Errorf("%q is called %q, and %q %q", s, got, same[0], p.of(same[0]))
			}
		}
	}
	seen := make(map[string]string)
	for _, s := range []string{"alice@example.org", "bob@example.org", "alice", "192.0.2.1", "192.0.2.2", "2001:db8::1"} {
		if other, ok := seen[p.of(s)]; ok {
			t.Errorf("%q and %q have one pseudonym", s, other)
		}
		seen[p.of(s)] = s
		if p.of(s) == discreet(2).of(s) {
			t.Errorf("%q has the same pseudonym at another site", s)
		}
	}
	if got := p.of("192.0.2.1:4711"); got != p.of("192.0.2.1")+":4711" {
		t.Error(got)
	}
	for _, s := range []string{"", "<>", "invalid IP", "trap:one"} {
		if got := p.of(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
	if got := p.Name("bank.example"); got != p.of("bank.example") || p.Name("") != "" {
		t.Errorf("a domain is shown as %q", got)
	}
	if got := new(Pseudonyms).Name("bank.example"); got != "bank.example" {
		t.Errorf("a domain without privacy is shown as %q", got)
	}
	var log bytes.Buffer
	slog.New(p.Handler(slog.NewTextHandler(&log, nil))).Info("judged", "spared", "bank.example")
	if strings.Contains(log.String(), "bank.example") || !strings.Contains(log.String(), "spared="+p.of("bank.example")) {
		t.Errorf("the log has another name than the page: %s", log.String())
	}
	if got := new(Pseudonyms).of("alice"); got != "h:unknown" {
		t.Errorf("without a key: %q", got)
	}
}

func TestAddressesInTexts(t *testing.T) {
	p := discreet(1)
	for in, want := range map[string]string{
		"no address at all, 3:4 and 1.5, 12:30:59.123":                        "",
		"text:6f1ed002ab559585,body:00aa":                                     "",
		"read tcp 127.0.0.1:8899->192.0.2.7:4711: i/o":                        "read tcp 127.0.0.1:8899->{192.0.2.7}:4711: i/o",
		"from [2001:db8::7]:25.":                                              "from [{2001:db8::7}]:25.",
		"2001:db8::7: refused":                                                "{2001:db8::7}: refused",
		"seen 192.0.2.7.":                                                     "seen {192.0.2.7}.",
		"listen 0.0.0.0:8897 and [::1]:25":                                    "",
		`"inet:8899@mx.example" is no address`:                                "",
		`user "a.b+c@example.org": no`:                                        `user "{a.b+c@example.org}": no`,
		"<a@example.org>,b@example.net;c@d":                                   "<{a@example.org}>,{b@example.net};{c@d}",
		`to "two words"@example.org or x@[192.0.2.7]`:                         `to {"two words"@example.org} or {x@[192.0.2.7]}`,
		`f.toml:3: policy.recipients: "carol @exampel" is not a mail address`: `f.toml:3: policy.recipients: {"carol @exampel"} is not a mail address`,
		"jürgen@bücher.example":                                               "{jürgen@bücher.example}",
	} {
		if want == "" {
			want = in
		}
		want = regexp.MustCompile(`\{.*?\}`).ReplaceAllStringFunc(want, func(s string) string { return p.of(s[1 : len(s)-1]) })
		if got := p.text(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

type lateValue string

func (v lateValue) LogValue() slog.Value { return slog.StringValue(string(v)) }

// Every address in a line is replaced, however it got there; other text and the types of
// JSON stay.
func TestDiscreetLines(t *testing.T) {
	p := discreet(1)
	var out bytes.Buffer
	base := slog.New(p.Handler(slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	log := base.With("federation", "ab12", "reporter", "anna", "trap", "t@example.org")
	line := func() (fields map[string]any) {
		t.Helper()
		if err := json.Unmarshal(out.Bytes(), &fields); err != nil {
			t.Fatal(err, out.String())
		}
		out.Reset()
		return fields
	}
	anna, alice, ip := p.of("anna"), p.of("alice@example.org"), p.of("192.0.2.7")

	log.Warn("TLS handshake error from 192.0.2.7:99", "count", 3, "client", lateValue("192.0.2.7"),
		"to", []string{"alice@example.org", ""}, slog.Group("origin", "uid", 1000, "pid", 7),
		"error", fmt.Errorf("wrapped: %w", errors.New("not for alice@example.org")), "listener", "inet:1@192.0.2.9", "ok", true)
	if got, want := line(), map[string]any{
		"level": "WARN", "msg": "TLS handshake error from " + ip + ":99", "federation": "ab12", "reporter": anna, "trap": p.of("t@example.org"),
		"count": 3.0, "client": ip, "to": []any{alice, ""}, "origin": map[string]any{"uid": p.of("1000"), "pid": 7.0},
		"error": "wrapped: not for " + alice, "listener": "inet:1@192.0.2.9", "ok": true,
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	log.WithGroup("g").Info("x", "by", "bert", "as", "carl", "reason", "bert may not speak for carl: only berta may", "cause", "bert")
	if got, want := line()["g"], map[string]any{"by": p.of("bert"), "as": p.of("carl"), "cause": "bert",
		"reason": p.of("bert") + " may not speak for " + p.of("carl") + ": only berta may"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}

	log.Info("x", slog.Group("origin", "client", "store1"), "error", "store1 may not speak for anna")
	if got, want := line()["error"], p.of("store1")+" may not speak for anna"; got != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}

	p.IsOn.Store(false) // as at a reload: also for attributes added by With before
	log.Info("x", "client", "192.0.2.7")
	if got, want := line(), map[string]any{"level": "INFO", "msg": "x", "federation": "ab12", "reporter": "anna", "trap": "t@example.org", "client": "192.0.2.7"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// The configuration in the log keeps the addresses of machines: it is the administrator's
// own.
func TestDiscreetConfiguration(t *testing.T) {
	p := discreet(1)
	c := config.Default()
	for _, a := range c.Effective() {
		if got := p.attr(a); !got.Equal(a) {
			t.Errorf("%v became %v", a, got)
		}
	}
}

func BenchmarkDiscreetLine(b *testing.B) {
	for name, on := range map[string]bool{"open": false, "discreet": true} {
		b.Run(name, func(b *testing.B) {
			p := discreet(1)
			p.IsOn.Store(on)
			log := slog.New(p.Handler(slog.NewTextHandler(io.Discard, nil)))
			to := []string{"alice@example.org", "bob@example.org"}
			for b.Loop() {
				log.Info("message", "queue_id", "4QX", "message_id", "<abc@example.net>", "client", "192.0.2.7",
					"from", "sender@example.net", slog.Any("to", to), "ids", strings.Repeat("text:6f1ed002ab559585,", 3), "verdict", "spam")
			}
		})
	}
}
