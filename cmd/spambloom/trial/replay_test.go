package trial

import (
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/replay"
)

func TestReasonText(t *testing.T) {
	for _, c := range []struct {
		reason replay.Reason
		want   string
	}{
		{replay.Reason{ID: "text:1", Reported: "a"}, "text:1: equal to that of a"},
		{replay.Reason{ID: "text:1"}, "text:1: a filter's error; no reported message has it"},
		{replay.Reason{ID: "sketch:1", Reported: "a", Found: 9, Need: 8, Likeness: 0.5}, "sketch:1: 9 keys found (needs 8); 50 % of the sketch of a"},
		{replay.Reason{ID: "sketch:1", Reported: "a", Found: 5, Need: 8, Likeness: 0.3}, "sketch:1: 5 keys found (needs 8, or fewer with a supporting link); 30 % of the sketch of a"},
		{replay.Reason{ID: "domain:1", Reported: "a", Domains: 1}, "domain:1: links to a domain of a"},
		{replay.Reason{ID: "domain:1", Reported: "a", Domains: 3}, "domain:1: links to a domain of a and 2 others"},
	} {
		if got := reasonText(c.reason); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
