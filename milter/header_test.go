package milter

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/header"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/protocol"
	"github.com/spambloom/spambloom/milter/room"
	"github.com/spambloom/spambloom/signature"
)

// A mail with thousands of forged fields costs the MTA no more than one with a hundred. The
// remaining ones are below our own field, which is added even if none would be otherwise.
func TestManyForgedHeaders(t *testing.T) {
	b := start(t, Options{SpamFlag: "X-Spam-Flag"}, func(judged) policy.Decision { return policy.Decision{Verdict: policy.Clean, Action: policy.Accept} })
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	for _, test := range []struct {
		verdict, flag, removed int
		own                    []string
	}{
		{header.MaxForged, header.MaxForged, 2 * header.MaxForged, nil},
		{header.MaxForged + 1, 0, header.MaxForged, []string{"+0 X-Spambloom: clean; count=0; sites=0; site=mx1"}},
		{5000, 5000, 2 * header.MaxForged, []string{"+0 X-Spambloom: clean; count=0; sites=0; site=mx1"}},
		{0, 0, 0, nil},
	} {
		forgeries := slices.Concat(slices.Repeat([]string{"X-Spambloom: clean"}, test.verdict), slices.Repeat([]string{"X-Spam-Flag: NO"}, test.flag))
		changes, _ := m.send(mail{header: forgeries, body: "x"})
		if test.removed > len(changes) {
			t.Fatalf("%d and %d forged: %d changes", test.verdict, test.flag, len(changes))
		}
		for i, c := range changes[:test.removed] { // from the last to the first of each name
			if want := uint32(header.MaxForged - i%header.MaxForged); c.Code != 'm' || c.HeaderIndex != want || c.HeaderValue != "" {
				t.Fatalf("%d and %d forged: change %d is %+v, want number %d away", test.verdict, test.flag, i, c, want)
			}
		}
		if got := changed(changes[test.removed:]); !slices.Equal(got, test.own) {
			t.Errorf("%d and %d forged: %q, want %q", test.verdict, test.flag, got, test.own)
		}
		lines := b.lines()
		if n, _ := lines[len(lines)-1]["forged"].(float64); (n > 0) != (test.own != nil) || n > 0 && int(n) != test.verdict+test.flag {
			t.Errorf("%d and %d forged: the log contains %v", test.verdict, test.flag, n)
		}
	}
}

// A message and its connection keep only the parts of a long field and a long macro packet
// that they use, because these are not booked.
func TestUnusedTextIsNotKept(t *testing.T) {
	s := NewServer(nil, Options{MaxMemory: 1, MaxMessage: 1})
	before := heap()
	var all []*message
	for range 32 {
		m := &message{options: s.options.Load(), server: s, holder: new(room.Client)}
		m.addField("Message-ID", string(bytes.Repeat([]byte("x"), 1<<20)))
		macros, err := protocol.Macros([]byte("Mi\x00xxxxxxxxxx\x00{auth_authen}\x00" + strings.Repeat("x", 1<<20)))
		testenv.Check(t, err)
		m.Merge(macros)
		all = append(all, m)
	}
	if n := heap() - before; n > 16<<20 {
		t.Errorf("%d messages keep %d bytes", len(all), n)
	}
	if m := all[0]; m.id != strings.Repeat("x", maxMessageID) || m.QueueID != "xxxxxxxxxx" || m.Auth == "" {
		t.Errorf("id %.20q, queue id %q, login %.20q", m.id, m.QueueID, m.Auth)
	}
}

// heap returns the reachable memory in bytes.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// A message uses the options in force when it began, to its end. The connection's next
// message uses the reloaded options.
func TestReloadInTheMiddleOfAMessage(t *testing.T) {
	before := Options{Site: "before", Policy: policy.Policy{Spam: policy.Reject}}
	b := start(t, before, nil)
	b.Server.db = openDB(t)
	testenv.Check(t, b.Server.db.Report(letter.set(), 0))
	before.Log = b.options.Load().Log
	for name, after := range map[string]Options{
		"local network": {LocalNetworks: prefixes("192.0.2.0/24")},
		"login":         {SkipAuthenticated: true},
		"allow rule":    {Allow: []policy.Allow{{Name: "all", Networks: prefixes("192.0.2.0/24")}}},
		"policy":        {},
		"oversize":      {MaxMessage: 10, SkipOversize: true},
	} {
		after.Site, after.Log = "after", before.Log
		b.Reload(before)
		m := dial(t, "tcp", b.addr, offerAll, "192.0.2.7")
		for i, code := range []byte{'y', 'c'} { // begun before, begun after
			testenv.Check(t, m.Macros('M', "{auth_authen}", "alice"))
			m.must(m.Mail("sender@example.org", nil))
			if i == 0 {
				m.must(m.Rcpt("you@example.org", nil))
				testenv.Eventually(t, "the beginning of a message", func() bool { return b.held.Taken() > 0 })
				b.Reload(after)
			}
			for _, line := range letter.header {
				field, value, _ := strings.Cut(line, ": ")
				m.must(m.HeaderField(field, value))
			}
			m.must(m.HeaderEnd())
			if _, action, err := m.BodyReadFrom(strings.NewReader(letter.body)); err != nil || byte(action.Code) != code {
				t.Errorf("%s, message %d: %+v, %v; want %c", name, i, action, err, code)
			}
		}
		m.Close()
	}
}

func TestHeaderOfVotes(t *testing.T) {
	text := signature.Signature{Kind: signature.KindText, Digest: signature.Digest{0xab}}
	d := policy.Decision{Verdict: policy.Spam, Signatures: []signature.Signature{text}, Sites: 2, Votes: 2}
	if got, want := header.Value(d, "mx1"), "spam; kind=text; votes=2; count=0; sites=2; site=mx1; id=text:ab00000000000000"; got != want {
		t.Errorf("header %q, want %q", got, want)
	}
}

func TestHeaderOfSparedMail(t *testing.T) {
	d := policy.Decision{Verdict: policy.Clean, Spared: "shop.example", Count: 1, Sites: 1}
	if got, want := header.Value(d, "mx1"), "clean; spared=shop.example; count=1; sites=1; site=mx1"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	d.SparedBy = policy.NewSite
	if got, want := header.Value(d, "mx1"), "clean; spared=shop.example; spared-by=new-site; count=1; sites=1; site=mx1"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestHeaderOfSketch(t *testing.T) {
	sketch := signature.Signature{Kind: signature.KindSketch, Digest: signature.Digest{0xab}}
	d := policy.Decision{Verdict: policy.Spam, Signatures: []signature.Signature{sketch}, Sites: 1, Found: 14, Need: 8}
	if got, want := header.Value(d, "mx1"), "spam; kind=sketch; found=14; need=8; count=0; sites=1; site=mx1; id=sketch:ab00000000000000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
