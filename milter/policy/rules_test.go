package policy

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
)

// office has policies of every width.
func office() *Rules {
	return NewRules(Settings{
		General: Policy{Spam: Reject, BulkThreshold: 20, Classes: map[bloomdb.Class]Action{bloomdb.ClassPhish: Discard, bloomdb.ClassScam: Quarantine}},
		Overrides: []Override{
			{Name: "port587", Listeners: []string{"inet:587"}, Policy: Policy{Bulk: Quarantine}},
			{Name: "school", Domains: []string{".school.example", ".schüle.example"}, Policy: Policy{Spam: Quarantine, BulkThreshold: 1000}},
			{Name: "desk", Domains: []string{"desk.school.example"}, Policy: Policy{Spam: Tempfail}},
			{Name: "abuse", Recipients: []string{"Abuse@School.example"}, Policy: Policy{Spam: Accept, Clean: Accept, Classes: map[bloomdb.Class]Action{bloomdb.ClassPhish: Tag, bloomdb.ClassScam: ""}}},
		},
	})
}

func TestOverrides(t *testing.T) {
	spam := bloomdb.Evidence{Listed: true, Count: 50}
	phish := bloomdb.Evidence{Listed: true, Class: bloomdb.ClassPhish}
	scam := bloomdb.Evidence{Listed: true, Class: bloomdb.ClassScam}
	seen := bloomdb.Evidence{Count: 50}
	for _, test := range []struct {
		name     string
		listener string
		to       string
		e        bloomdb.Evidence
		want     string // policy verdict action; then the stricter ones
	}{
		{"general", "", "a@example.org", spam, "general spam reject"},
		{"class", "", "a@example.org", phish, "general spam discard"},
		{"bulk", "", "a@example.org", seen, "general bulk tag"},
		{"listener", "inet:587", "a@example.org", seen, "port587 bulk quarantine"},
		{"listener leaves the rest", "inet:587", "a@example.org", spam, "port587 spam reject"},
		{"domain", "", "a@school.example", spam, "school spam quarantine"},
		{"below a domain", "", "a@b.c.SCHOOL.example", spam, "school spam quarantine"},
		{"a domain that ends alike", "", "a@preschool.example", spam, "general spam reject"},
		{"international domain", "", "a@b.SCHÜLE.example", spam, "school spam quarantine"},
		{"international domain in ASCII", "", "a@xn--schle-mva.example", spam, "school spam quarantine"},
		{"full-width domain", "", "a@\uff53chool.example", spam, "general spam reject"},
		{"narrower domain", "", "a@desk.school.example", spam, "desk spam tempfail"},
		{"not below it", "", "a@x.desk.school.example", spam, "school spam quarantine"},
		{"threshold of the domain", "", "a@school.example", seen, "school clean tag"},
		{"domain over listener", "inet:587", "a@school.example", bloomdb.Evidence{Count: 1000}, "school bulk quarantine"},
		{"class of the general policy", "", "a@school.example", phish, "school spam discard"},
		{"recipient", "", "abuse@school.example", spam, "abuse spam accept"},
		{"recipient with detail", "", "abuse+x@school.example", spam, "abuse spam accept"},
		{"class of the recipient", "", "abuse@school.example", phish, "abuse spam tag"},
		{"class that the recipient leaves out", "", "abuse@school.example", scam, "abuse spam quarantine"},
		{"mildest", "", "a@example.org abuse@school.example a@school.example", spam, "abuse spam accept; general spam reject, school spam quarantine"},
		{"mildest in any order", "", "a@school.example a@example.org b@example.org", spam, "school spam quarantine; general spam reject"},
		{"least verdict of equal actions", "", "a@example.org a@school.example", seen, "school clean tag; general bulk tag"},
		{"equal for all", "", "a@example.org b@example.net", spam, "general spam reject"},
		{"no address", "", "postmaster", spam, "general spam reject"},
		{"nobody", "inet:587", "", seen, "port587 bulk quarantine"},
	} {
		to := strings.Fields(test.to)
		d := office().Decide(test.e, true, &Envelope{Listener: test.listener, Recipients: to, Count: uint32(len(to))}, nil)
		got := d.PolicyName() + " " + string(d.Verdict) + " " + string(d.Action)
		if len(d.Milder) > 0 {
			got += "; " + strings.Join(d.Milder, ", ")
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// Recipients that were not kept get the general policy.
func TestRecipientsNotKept(t *testing.T) {
	d := office().Decide(bloomdb.Evidence{Listed: true}, true, &Envelope{Recipients: []string{"desk@desk.school.example"}, Count: 2}, nil)
	if d.Action != Tempfail || !slices.Equal(d.Milder, []string{"general spam reject"}) {
		t.Errorf("%+v", d)
	}
}

// The action for a class in one recipient's policy must not leak into others': all messages
// share the rules.
func TestOverridesAreNotShared(t *testing.T) {
	class := func(a Action) Policy {
		return Policy{Classes: map[bloomdb.Class]Action{bloomdb.ClassMalware: a}}
	}
	r := NewRules(Settings{General: class(Discard), Overrides: []Override{{Name: "desk", Recipients: []string{"desk@example.org"}, Policy: class(Quarantine)}}})
	for _, to := range []struct {
		recipient string
		want      Action
	}{{"desk@example.org", Quarantine}, {"you@example.org", Discard}} {
		e := &Envelope{Recipients: []string{to.recipient}, Count: 1}
		if d := r.Decide(bloomdb.Evidence{Listed: true, Class: bloomdb.ClassMalware}, true, e, nil); d.Action != to.want {
			t.Errorf("to %s: %s, want %s", to.recipient, d.Action, to.want)
		}
	}
}

// If a recipient is allowed, the message is delivered to all, but its verdict stands:
// adding a postmaster to the recipients of a spam hides nothing.
func TestAllowedRecipientAmongOthers(t *testing.T) {
	e := &Envelope{Recipients: []string{"a@example.org", "b@example.org"}, Count: 2}
	d := office().Decide(bloomdb.Evidence{Listed: true}, true, e, []string{"", "postmasters"})
	if d.Verdict != Spam || d.Action != Tag || d.PolicyName() != "allow:postmasters" || !slices.Equal(d.Milder, []string{"general spam reject"}) {
		t.Errorf("%+v", d)
	}
	held := NewRules(Settings{General: Policy{Spam: Quarantine}})
	if d = held.Decide(bloomdb.Evidence{Listed: true}, true, e, []string{"", "postmasters"}); d.Action != Tag {
		t.Errorf("one that would be held: %+v", d)
	}
	e.Recipients[1] = "abuse@school.example" // whose policy is milder than the rule
	if d = office().Decide(bloomdb.Evidence{Listed: true}, true, e, []string{"", "postmasters"}); d.Action != Accept || d.PolicyName() != "abuse" {
		t.Errorf("%+v", d)
	}
}

// The mildest decision does not depend on the order of the recipients, and no recipient
// gets a stricter action than its own policy demands.
func TestMildestProperty(t *testing.T) {
	all := []string{"a@example.org", "a@school.example", "a@desk.school.example", "abuse@school.example", "b@example.net"}
	rapid.Check(t, func(t *rapid.T) {
		r := office()
		to := rapid.SliceOfN(rapid.SampledFrom(all), 1, 6).Draw(t, "to")
		e := bloomdb.Evidence{
			Listed: rapid.Bool().Draw(t, "listed"),
			Class:  rapid.SampledFrom(bloomdb.Classes()).Draw(t, "class"),
			Count:  rapid.Uint64Range(0, 2000).Draw(t, "count"),
		}
		listener := rapid.SampledFrom([]string{"", "inet:587"}).Draw(t, "listener")
		decide := func(to ...string) Decision {
			return r.Decide(e, true, &Envelope{Listener: listener, Recipients: to, Count: uint32(len(to))}, nil)
		}
		d := decide(to...)
		for _, one := range to {
			if alone := decide(one); alone.isMilder(d) {
				t.Fatalf("%s alone: %v %v, together %v %v", one, alone.Verdict, alone.Action, d.Verdict, d.Action)
			}
		}
		mixed := slices.Clone(to)
		rand.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		if other := decide(mixed...); other.Verdict != d.Verdict || other.Action != d.Action {
			t.Fatalf("in another order: %v %v, before %v %v", other.Verdict, other.Action, d.Verdict, d.Action)
		}
	})
}

func TestParsePattern(t *testing.T) {
	for pattern, want := range map[string]string{
		"A@Example.org": "a@example.org", "example.ORG": "example.org", ".example.org": ".example.org", "localhost": "localhost", "a+b@x": "a+b@x",
		"Ä@Bücher.example": "ä@xn--bcher-kva.example", ".BÜCHER.example": ".xn--bcher-kva.example", "a@b@xn--bcher-kva.example": "a@b@xn--bcher-kva.example",
		strings.Repeat("ü", 50) + ".example": "xn--td" + strings.Repeat("a", 50) + ".example", // over 63 bytes in UTF-8
	} {
		if got, err := ParsePattern(pattern); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", pattern, got, err, want)
		}
	}
	for _, bad := range []string{
		"", ".", "@", "@example.org", "a@", "a..b", "example.org.", "a b@example.org", "<a@b>", "*.example.org", "a@.b", strings.Repeat("x", 64) + ".org",
		"\uff45xample.com", "a@example\u3002com", ".exam\u00adple.com", "ban\u212a.example", "b\xfccher.example", "xn--bcher-kv!.example",
	} {
		if form, err := ParsePattern(bad); err == nil {
			t.Errorf("%q is accepted as the pattern %q", bad, form)
		}
	}
}
