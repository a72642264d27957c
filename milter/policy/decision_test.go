package policy

import (
	"reflect"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/signature"
)

func TestDecide(t *testing.T) {
	body, text := signature.Signature{Kind: signature.KindBody}, signature.Signature{Kind: signature.KindText}
	listed := bloomdb.Evidence{Listed: true, Count: 50, Sites: 2, Matches: []bloomdb.Match{{Signature: text}, {Signature: body, Revoked: true}}}
	revoked := bloomdb.Evidence{Count: 3, Sites: 1, Matches: []bloomdb.Match{{Signature: text, Revoked: true}}}
	sketch := signature.Signature{Kind: signature.KindSketch, Digest: signature.Digest{0xab}}
	alike := bloomdb.Evidence{Listed: true, Sites: 1, Matches: []bloomdb.Match{{Signature: sketch, Found: 14, Need: 8, Keys: 42}}}
	byVotes := bloomdb.Evidence{Listed: true, Sites: 2, Votes: 2, Matches: []bloomdb.Match{{Signature: text, Votes: true, Sites: []string{"a", "b"}}}}
	policy := Policy{Spam: Reject, Bulk: Quarantine, Clean: Accept, BulkThreshold: 20}
	tests := []struct {
		name   string
		policy Policy
		e      bloomdb.Evidence
		signed bool
		want   Decision
	}{
		{"spam before bulk", policy, listed, true,
			Decision{Verdict: Spam, Action: Reject, Signatures: []signature.Signature{text}, Count: 50, Sites: 2}},
		{"by a sketch", policy, alike, true,
			Decision{Verdict: Spam, Action: Reject, Signatures: []signature.Signature{sketch}, Sites: 1, Found: 14, Need: 8}},
		{"by votes", policy, byVotes, true,
			Decision{Verdict: Spam, Action: Reject, Signatures: []signature.Signature{text}, Sites: 2, Votes: 2, Origins: []string{"a", "b"}}},
		{"one vote", policy, bloomdb.Evidence{Votes: 1}, true, Decision{Verdict: Clean, Action: Accept, Votes: 1}},
		{"revoked", policy, revoked, true, Decision{Verdict: Clean, Action: Accept, Count: 3, Sites: 1}},
		{"below the threshold", policy, bloomdb.Evidence{Count: 19}, true, Decision{Verdict: Clean, Action: Accept, Count: 19}},
		{"at the threshold", policy, bloomdb.Evidence{Count: 20}, true, Decision{Verdict: Bulk, Action: Quarantine, Count: 20}},
		{"on the never-list", policy, bloomdb.Evidence{Never: true, Count: 50, Sites: 2}, true, Decision{Verdict: Allowed, Action: Accept, Reason: ReasonNever, Count: 50, Sites: 2}},
		{"no threshold", Policy{}, bloomdb.Evidence{Count: 1 << 60}, true, Decision{Verdict: Clean, Action: Tag, Count: 1 << 60}},
		{"actions default to tag", Policy{BulkThreshold: 1}, bloomdb.Evidence{Count: 1}, true, Decision{Verdict: Bulk, Action: Tag, Count: 1}},
		{"not signed", policy, listed, false, Decision{Verdict: Skipped, Action: Tag, Reason: "too-little-content"}},
	}
	for _, test := range tests {
		if got := test.policy.Decide(test.e, test.signed); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
