package milter

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	gomilter "github.com/emersion/go-milter"
)

func prefixes(list ...string) (all []netip.Prefix) {
	for _, s := range list {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

// house has a rule of each kind.
var house = []Allow{
	{Name: "empty"},
	{Name: "nets", Networks: prefixes("192.0.2.0/24", "198.51.100.7/32", "::ffff:203.0.113.0/120", "2001:db8::/32")},
	{Name: "senders", Senders: []string{"Boss@Partner.example", "list.example", ".deep.example", "bücher.example", "Jürgen@xn--mnchen-3ya.example", "ban\u212a.example"}},
	{Name: "bank", From: []string{"bank.example", "news@shop.example"}},
	{Name: "books", From: []string{"bücher.example"}},
	{Name: "lists", ListIDs: []string{"Users.list.example", ""}},
	{Name: "listener", Listeners: []string{"inet:10025", ""}},
	{Name: "both", Senders: []string{"both.example"}, Networks: prefixes("10.0.0.0/8")},
	{Name: "desk", Recipients: []string{"desk@here.example", "abuse.example", "größe.example"}},
	{Name: "desk again", Recipients: []string{"desk@here.example"}}, // the first is named, and one recipient is not two
	{Name: "desk from bank", From: []string{"safe.example"}, Recipients: []string{"vault@here.example"}},
}

func TestAllow(t *testing.T) {
	rules := newAllowRules(house, mx)
	const signed = "Authentication-Results: mx.example.test; dkim=pass header.d="
	for _, test := range []struct{ name, listener, client, sender, to, header, want string }{
		{"nothing", "", "", "", "you@here.example", "", ""},
		{"network", "", "192.0.2.9", "", "you@here.example", "", "nets"},
		{"one address", "", "198.51.100.7", "", "you@here.example", "", "nets"},
		{"beside it", "", "198.51.100.8", "", "you@here.example", "", ""},
		{"mapped address", "", "::ffff:192.0.2.9", "", "you@here.example", "", "nets"},
		{"mapped network", "", "203.0.113.1", "", "you@here.example", "", "nets"},
		{"v6", "", "2001:db8::1", "", "you@here.example", "", "nets"},
		{"v6 with a zone", "", "2001:db8::1%eth0", "", "you@here.example", "", "nets"},
		{"other v6", "", "2001:db9::1", "", "you@here.example", "", ""},
		{"sender", "", "", "boss@partner.example", "you@here.example", "", "senders"},
		{"sender with detail", "", "", "boss+x@partner.example", "you@here.example", "", ""},
		{"another of the sender's domain", "", "", "x@partner.example", "you@here.example", "", ""},
		{"sender's domain", "", "", "X@List.example", "you@here.example", "", "senders"},
		{"below it", "", "", "x@a.list.example", "you@here.example", "", ""},
		{"domain and below", "", "", "x@deep.example", "you@here.example", "", "senders"},
		{"deep below", "", "", "x@a.b.deep.example", "you@here.example", "", "senders"},
		{"domain that ends alike", "", "", "x@notdeep.example", "you@here.example", "", ""},
		{"sender without a domain", "", "", "list.example", "you@here.example", "", ""},
		{"international", "", "", "x@BÜCHER.example", "you@here.example", "", "senders"},
		{"international, in ASCII", "", "", "x@xn--bcher-kva.example", "you@here.example", "", "senders"},
		{"international, configured in ASCII", "", "", "jÜrgen@München.example", "you@here.example", "", "senders"},
		{"international, another address", "", "", "jurgen@München.example", "you@here.example", "", ""},
		{"international, decomposed", "", "", "x@bu\u0308cher.example", "you@here.example", "", ""},
		{"international, in Latin-1", "", "", "x@b\xfccher.example", "you@here.example", "", ""},
		{"full width", "", "", "x@\uff4cist.example", "you@here.example", "", ""},
		{"soft hyphen", "", "", "x@li\u00adst.example", "you@here.example", "", ""},
		{"ideographic full stop", "", "", "x@a\u3002deep.example", "you@here.example", "", ""},
		{"ideographic full stop below", "", "", "x@deep\u3002example", "you@here.example", "", ""},
		{"sign for Kelvin in a rule", "", "", "x@bank.example", "you@here.example", "", ""},
		{"From, signed, international", "", "", "", "you@here.example", signed + "Bücher.example\nFrom: a@xn--bcher-kva.example", "books"},
		{"From, signed in ASCII", "", "", "", "you@here.example", signed + "xn--bcher-kva.example\nFrom: a@bücher.example", "books"},
		{"From, sign for Kelvin", "", "", "", "you@here.example", signed + "ban\u212a.example\nFrom: a@ban\u212a.example", ""},
		{"From, signed", "", "", "", "you@here.example", signed + "bank.example\nFrom: a@bank.example", "bank"},
		{"From, not signed", "", "", "", "you@here.example", "From: a@bank.example", ""},
		{"From, signed, another", "", "", "", "you@here.example", signed + "shop.example\nFrom: a@shop.example", ""},
		{"From, one address", "", "", "", "you@here.example", signed + "shop.example\nFrom: news@shop.example", "bank"},
		{"From, below", "", "", "", "you@here.example", signed + "bank.example\nFrom: a@b.bank.example", ""},
		{"list", "", "", "", "you@here.example", "List-Id: Our users <users.LIST.example>", "lists"},
		{"list without brackets", "", "", "", "you@here.example", "List-Id: users.list.example", ""},
		{"list in the name", "", "", "", "you@here.example", "List-Id: <users.list.example> <x.example>", ""},
		{"list not at the end", "", "", "", "you@here.example", "List-Id: <users.list.example> x", ""},
		{"two lists", "", "", "", "you@here.example", "List-Id: <users.list.example>\nLIST-ID: <users.list.example>", ""},
		{"no list", "", "", "", "you@here.example", "List-Id: <>", ""},
		{"listener", "inet:10025", "", "", "you@here.example", "", "listener"},
		{"one of two conditions", "", "", "x@both.example", "you@here.example", "", ""},
		{"two of two conditions", "", "10.1.1.1", "x@both.example", "you@here.example", "", "both"},
		{"recipient", "", "", "", "Desk@here.example", "", "desk"},
		{"international recipient", "", "", "", "x@xn--gre-6ka8i.example desk+x@GRÖẞE.example", "", "desk"},
		{"full-width recipient", "", "", "", "x@\uff47röße.example", "", ""},
		{"recipient with detail", "", "", "", "desk+a+b@here.example", "", "desk"},
		{"detail alone", "", "", "", "+desk@here.example", "", ""},
		{"recipient's domain", "", "", "", "x@abuse.example", "", "desk"},
		{"one of two recipients", "", "", "", "desk@here.example you@here.example", "", ",desk,"},
		{"both recipients", "", "", "", "desk@here.example x@abuse.example", "", "desk"},
		{"each by another rule", "", "", "", "vault@here.example desk@here.example", signed + "safe.example\nFrom: a@safe.example", "desk from bank"},
		{"of two rules that of the first", "", "", "", "desk@here.example vault@here.example", signed + "safe.example\nFrom: a@safe.example", "desk"},
		{"one of them by no rule", "", "", "", "vault@here.example desk@here.example", "From: a@safe.example", ",,desk"},
		{"sender and recipient", "", "", "x@list.example", "desk@here.example you@here.example", "", "senders"},
		{"recipient that was not kept", "", "", "", "desk@here.example ...", "", ",desk,"},
		{"network with one that was not kept", "", "192.0.2.9", "", "desk@here.example ...", "", "nets"},
	} {
		e := &envelope{listener: test.listener, sender: test.sender, recipients: strings.Fields(test.to)}
		e.count = uint32(len(e.recipients))
		e.recipients = slices.DeleteFunc(e.recipients, func(s string) bool { return s == "..." })
		if test.client != "" {
			e.client = netip.MustParseAddr(test.client)
		}
		allowed, every := rules.of(e, fields(test.header))
		got := every
		if every == "" && allowed != nil {
			got = "," + strings.Join(allowed, ",")
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// Reported spam from 203.0.114.7 to these recipients, on one connection: the log line and
// the answer to the MTA. Allowed mail is not counted.
func TestAllowedSessions(t *testing.T) {
	const signed = "Authentication-Results: mx.example.test; dkim=pass header.d=bank.example"
	spammers := []Allow{{Name: "net", Networks: prefixes("203.0.114.7/32")}}
	here := []Allow{{Name: "all", Listeners: []string{"listener"}}}
	db := openDB(t)
	b := start(t, Options{}, nil)
	b.Server.db = db
	if err := db.Report(letter.set(), 0); err != nil {
		t.Fatal(err)
	}
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
		{"clean mail is accepted", Options{Allow: here, Policy: Policy{Clean: Accept}}, "you@here.example", nil, "allowed accept allow:all c"},
		{"clean mail is refused", Options{Allow: here, Policy: Policy{Clean: Reject}}, "you@here.example", nil, "allowed tag allow:all c"},
		{"local network", Options{Allow: here, LocalNetworks: prefixes("203.0.114.0/24")}, "you@here.example", nil, "skipped accept local c"},
		{"before a recipient's policy", Options{Allow: house, Overrides: []Override{{Name: "strict", Recipients: []string{"desk@here.example"}, Policy: Policy{Spam: Discard}}}}, "desk@here.example", nil, "allowed tag allow:desk c"},
		{"with a milder policy", Options{Allow: house, Overrides: []Override{{Name: "mild", Domains: []string{"mild.example"}, Policy: Policy{Spam: Accept}}}}, "desk@here.example you@mild.example", nil, "spam accept  c"},
	} {
		test.o.AuthservID, test.o.Site, test.o.Log, test.o.Policy.Spam = mx, "mx1", b.options.Load().Log, Reject
		b.Reload(test.o)
		answer := m.sendTo(strings.Fields(test.to), letter, test.header...)
		lines := b.lines()
		line := lines[len(lines)-1]
		if got := fmt.Sprintf("%v %v %v %c", line["verdict"], line["action"], line["reason"], answer.Code); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if line["verdict"] == string(Spam) {
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
	o := Options{Allow: []Allow{{Name: "desk", Recipients: []string{"desk@here.example"}}}}
	o.Tempfail.Overload, o.Tempfail.Error, o.Tempfail.Deadline = true, true, true
	s := NewServer(nil, o)
	for to, want := range map[string]Action{"you@here.example": Tempfail, "you@here.example desk@here.example": Tag} {
		msg := &message{options: s.options.Load(), server: s, envelope: envelope{recipients: strings.Fields(to)}}
		msg.allowed, _ = msg.options.rules.allow.of(&msg.envelope, nil)
		for range 2 { // the second is not logged
			if d := s.fail(msg, causeOverload, errNoRoom); d.Action != want || d.Verdict != failed {
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

// The cost of a message does not grow with the entries of a rule.
func BenchmarkAllow(b *testing.B) {
	for _, entries := range []int{10, 1000, 100_000} {
		var big Allow
		for i := range entries {
			name := fmt.Sprintf("host%d.example", i)
			big.Networks = append(big.Networks, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32-i%9).Masked())
			big.Senders, big.From = append(big.Senders, "a@"+name), append(big.From, "."+name)
			big.ListIDs, big.Recipients = append(big.ListIDs, name), append(big.Recipients, "user@"+name)
		}
		rules := newAllowRules([]Allow{
			{Name: "whiteclnt", Networks: big.Networks}, {Name: "whiteclnt", Senders: big.Senders}, {Name: "whiteclnt", From: big.From},
			{Name: "whiteclnt", ListIDs: big.ListIDs}, {Name: "whiteclnt", Recipients: big.Recipients},
		}, mx)
		e := &envelope{client: netip.MustParseAddr("192.0.2.1"), sender: "bounce@mail.shop.example", recipients: []string{"you@here.example"}, count: 1}
		header := fields("Authentication-Results: mx.example.test; dkim=pass header.d=shop.example\nFrom: Shop <news@mail.shop.example>\nList-Id: <news.shop.example>")
		b.Run(fmt.Sprintf("entries=%d", entries), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, every := rules.of(e, header); every != "" {
					b.Fatal(every)
				}
			}
		})
	}
}
