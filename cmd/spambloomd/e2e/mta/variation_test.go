package mta

import (
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A spammer's varied copy of a reported mail is tagged because of its sketch. Other mail is
// not, and after a revocation of the varied copy none is.
func TestVariedCopyIsTagged(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "varied", filepath.Join(testenv.Dir(t), "key"), "").Start()
	p := harness.StartPostfix(t, "varied", s.Milter)
	spam := harness.Text()
	first := p.Send(harness.Message(spam))
	harness.ExpectVerdict(t, first, "clean", 1, "varied")
	if r := s.CLI("report", first.Path); r.Code != 0 {
		t.Fatalf("report: %+v", r)
	}

	varied := "Dear " + harness.Words[rand.IntN(len(harness.Words))] + ",\r\n\r\n" + lookAlikes(spam) + "\r\n" + harness.Text()
	second := p.Send(harness.Message(varied))
	harness.ExpectVerdict(t, second, "spam", 1, "varied")
	_, fields := second.Verdict(t)
	found, _ := strconv.Atoi(fields["found"])
	need, _ := strconv.Atoi(fields["need"])
	if fields["kind"] != "sketch" || need < 1 || found < need {
		t.Errorf("fields %v, want kind=sketch and found at least need", fields)
	}
	if r := s.CLI("explain", second.Path); r.Code != 0 || !strings.Contains(r.Stdout, "sketch") {
		t.Errorf("explain: %+v", r)
	}
	if r := s.CLI("explain", first.Path, second.Path); r.Code != 0 || !strings.Contains(r.Stdout, "sketch") {
		t.Errorf("explain of both: %+v", r)
	}
	harness.ExpectVerdict(t, p.Send(harness.Message(harness.Text())), "clean", 1, "varied")

	if r := s.CLI("revoke", second.Path); r.Code != 0 {
		t.Fatalf("revoke: %+v", r)
	}
	harness.ExpectVerdict(t, p.Send(harness.Message(varied)), "clean", 2, "varied")
}

// lookAlikes replaces some letters by Cyrillic ones that look the same.
func lookAlikes(s string) string {
	replaced := strings.NewReplacer("e", "\u0435", "o", "\u043e", "a", "\u0430")
	list := strings.SplitAfter(s, " ")
	for i := range list {
		if i%4 == 0 {
			list[i] = replaced.Replace(list[i])
		}
	}
	return strings.Join(list, "")
}
