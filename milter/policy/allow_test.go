package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
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
		e := &Envelope{Listener: test.listener, Sender: test.sender, Recipients: strings.Fields(test.to)}
		e.Count = uint32(len(e.Recipients))
		e.Recipients = slices.DeleteFunc(e.Recipients, func(s string) bool { return s == "..." })
		if test.client != "" {
			e.Client = netip.MustParseAddr(test.client)
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
		e := &Envelope{Client: netip.MustParseAddr("192.0.2.1"), Sender: "bounce@mail.shop.example", Recipients: []string{"you@here.example"}, Count: 1}
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
