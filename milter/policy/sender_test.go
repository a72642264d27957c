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
		name, client string
		header       []signature.Field
		from         string
	}{
		{"aligned", "192.0.2.77", signed("shop.example", "News <a@mail.shop.example>"), "shop.example"},
		{"of another domain", "192.0.2.77", signed("esp.example", "a@shop.example"), ""},
		{"no results", "2001:db8:1:2::3", signed("shop.example", "a@shop.example")[1:], ""},
		{"header not kept", "::ffff:192.0.2.77", nil, ""},
	} {
		e := policy.Envelope{Client: netip.MustParseAddr(c.client), Sender: "bounces@esp.example"}
		if from := rules.Sender(&e, c.header); from != c.from {
			t.Errorf("%s: sender %q, want %q", c.name, from, c.from)
		}
	}
}
