package policy_test

import (
	"net/netip"
	"testing"

	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/signature"
)

func TestSender(t *testing.T) {
	rules := policy.NewRules(policy.Settings{AuthservID: "mx.example"})
	signed := func(domain, from string) []signature.Field {
		return []signature.Field{
			{Name: "Authentication-Results", Value: "mx.example; dkim=pass header.d=" + domain},
			{Name: "From", Value: from},
		}
	}
	for _, c := range []struct {
		name, client  string
		header        []signature.Field
		from, network string
	}{
		{"aligned", "192.0.2.77", signed("shop.example", "News <a@mail.shop.example>"), "shop.example", "192.0.2.0/24"},
		{"of another domain", "192.0.2.77", signed("esp.example", "a@shop.example"), "", "192.0.2.0/24"},
		{"no results", "2001:db8:1:2::3", signed("shop.example", "a@shop.example")[1:], "", "2001:db8:1::/48"},
		{"header not kept", "::ffff:192.0.2.77", nil, "", "192.0.2.0/24"},
	} {
		e := policy.Envelope{Client: netip.MustParseAddr(c.client), Sender: "bounces@esp.example"}
		if from, network := rules.Sender(&e, c.header); from != c.from || network != c.network {
			t.Errorf("%s: sender %q of %q, want %q of %q", c.name, from, network, c.from, c.network)
		}
	}
	if _, network := rules.Sender(&policy.Envelope{}, nil); network != "" {
		t.Errorf("no client: network %q", network)
	}
}
