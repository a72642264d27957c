package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/milter/idn"
)

// manyRecipients is the maximum that the milter keeps.
const manyRecipients = 10_000

// domesticRules has an allow rule and an override for one domain each.
func domesticRules() *Rules {
	return NewRules(Settings{
		Allow:     []Allow{{Name: "friends", Recipients: []string{"bücher.example", "plain.example"}}},
		Overrides: []Override{{Name: "school", Domains: []string{"schüle.example", "bücher.example"}, Policy: Policy{Spam: Accept}}},
		General:   Policy{Spam: Reject},
	})
}

// judgedFor applies the rules to a message to these recipients, like a session.
func judgedFor(to ...string) (e *Envelope, allowed []string, every string, d Decision) {
	r := domesticRules()
	e = &Envelope{Sender: "a@sender.example", Recipients: to, Count: uint32(len(to))}
	allowed, every = r.allow.of(e, nil)
	return e, allowed, every, r.Decide(bloomdb.Evidence{Listed: true}, true, e, allowed)
}

// The domain of many recipients is converted once for all rules; one in ASCII never.
func TestDomainsAreConvertedOnce(t *testing.T) {
	for _, test := range []struct {
		domain    string
		converted int
	}{
		{"bücher.example", 1},
		{"xn--bcher-kva.example", 0},
		{"Plain.EXAMPLE", 0},
	} {
		to := make([]string, manyRecipients)
		for i := range to {
			to[i] = fmt.Sprintf("user%d@%s", i, test.domain)
		}
		e, _, every, _ := judgedFor(to...)
		if n := len(e.forms.known); n != test.converted || every != "friends" {
			t.Errorf("%s: %d conversions, allowed by %q", test.domain, n, every)
		}
	}
}

// 10,000 recipients with a domain each: a bounded number of domains is converted. Those
// beyond the bound match neither a rule nor an override.
func TestConversionsAreBounded(t *testing.T) {
	for _, size := range []int{2, 20, 250} {
		to := make([]string, manyRecipients)
		for i := range to {
			to[i] = fmt.Sprintf("a@%d%s.example", i, strings.Repeat("ü", size/2))
		}
		first, last := slices.Clone(to), slices.Clone(to)
		first[0], last[len(last)-1] = "a@bücher.example", "a@bücher.example"

		e, allowed, every, _ := judgedFor(first...)
		sum := 0
		for domain := range e.forms.known {
			sum += len(domain) + formOverhead
		}
		if sum > maxConverted || e.forms.spent != sum || sum < maxConverted-MaxAddress-formOverhead {
			t.Errorf("domains of %d bytes: %d bytes converted, booked %d", size, sum, e.forms.spent)
		}
		if allowed[0] != "friends" || every != "" {
			t.Errorf("within the bound: allowed by %q, all by %q", allowed[0], every)
		}
		_, allowed, every, d := judgedFor(last...)
		if allowed != nil || every != "" || d.Action != Reject {
			t.Errorf("beyond the bound: allowed %v, all by %q, %s", allowed != nil, every, d.Action)
		}
		// All other domains are compared as usual.
		last[len(last)-2] = "a@plain.example"
		if _, allowed, _, _ := judgedFor(last...); allowed == nil || allowed[len(allowed)-2] != "friends" {
			t.Error("a domain in ASCII beyond the bound is not allowed")
		}
	}
}

// Within the bound forms equal those of package idn; beyond it there is none.
func TestFormsAsIDN(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f forms
		domain := rapid.OneOf(
			rapid.StringMatching(`[a-zA-Z0-9.ü-]{0,40}`),
			rapid.SampledFrom([]string{"bücher.example", "BÜCHER.example", "ban\u212a.example", strings.Repeat("ü", 200), ""}),
		)
		for _, d := range rapid.SliceOfN(domain, 0, 400).Draw(t, "domains") {
			_, known := f.known[d]
			isBeyond := !known && !idn.IsASCII(d) && f.spent+len(d)+formOverhead > maxConverted
			got := f.ascii(d)
			want, _ := idn.ASCII(d)
			if isBeyond {
				want = ""
			}
			if got != want || f.spent > maxConverted {
				t.Fatalf("%q: %q, want %q; spent %d", d, got, want, f.spent)
			}
		}
	})
}
