package policy

import (
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
)

// Forms in which Postfix and Sendmail deliver to one mailbox, and others.
func TestRecipient(t *testing.T) {
	for _, same := range []string{
		`anna@example.test`, `"anna"@example.test`, `an\na@example.test`, `"an\na"@example.test`, `an"na"@example.test`,
		`@a.example:anna@example.test`, `@a.example,@b.example:anna@example.test`, `anna @example.test`, "anna@example.test\t",
		`anna@example.test.`, `anna@example.test..`, `anna (c (d))@example.test`, `anna @ example . test`, `(x)anna@example.test`, ` anna@example.test`,
		`anna@example.test (@other.test)`,
	} {
		if got := Recipient(same); got != "anna@example.test" {
			t.Errorf("%s: %s", same, got)
		}
	}
	for address, want := range map[string]string{
		`"an na"@example.test`:        `an na@example.test`,
		`an na@example.test`:          `an na@example.test`,
		`"anna@example.test"@b.test`:  `anna@example.test@b.test`,
		`bert@b.test"@example.test"`:  `bert@b.test"@example.test"`,
		`bert@b.test\@example.test`:   `bert@b.test\@example.test`,
		`"anna@example.test"`:         `"anna@example.test"`,
		`anna(@example.test`:          `anna(@example.test`,
		`"anna@example.test`:          `"anna@example.test`,
		`anna`:                        `anna`,
		`anna\`:                       `anna\`,
		``:                            ``,
		`@`:                           `@`,
		`anna@[192.0.2.1]`:            `anna@[192.0.2.1]`,
		"j\xc3\xbcrg@b\xc3\xbc.test.": "j\xc3\xbcrg@b\xc3\xbc.test",
	} {
		if got := Recipient(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// A sender does not choose the policy by the form of the recipient's address.
func TestPolicyOfEachForm(t *testing.T) {
	r := NewRules(Settings{
		Overrides: []Override{
			{Name: "anna", Recipients: []string{"anna@example.test"}, Policy: Policy{Spam: Reject}},
			{Name: "held", Domains: []string{"held.test"}, Policy: Policy{Spam: Quarantine}},
		},
		Allow: []Allow{{Name: "desk", Recipients: []string{"desk@example.test"}}},
	})
	for address, want := range map[string]Action{
		`"anna"@example.test`: Reject, `anna+x@example.test.`: Reject, `"anna+x"@example.test`: Reject,
		`x@held.test.`: Quarantine, `x@held . test`: Quarantine, `bert@example.test.`: Tag,
	} {
		e := &Envelope{Recipients: []string{address}, Count: 1}
		if d := r.Decide(bloomdb.Evidence{Listed: true}, true, e, nil); d.Action != want {
			t.Errorf("%s: %s, want %s", address, d.Action, want)
		}
	}
	for address, want := range map[string]bool{`"desk"@example.test.`: true, `x@b.test"desk@example.test"`: false} {
		e := &Envelope{Recipients: []string{address}, Count: 1}
		if _, whole := r.Allowed(e, nil); (whole != nil) != want {
			t.Errorf("%s: allowed %v, want %v", address, whole != nil, want)
		}
	}
}
