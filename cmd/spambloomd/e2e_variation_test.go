package main

import (
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// What a spammer sends after one copy was reported is tagged, by its sketch; so is
// no mail of others, and none after a revocation of the varied copy.
func TestVariedCopyIsTagged(t *testing.T) {
	t.Parallel()
	s := newSite(t, "varied", filepath.Join(folder(t), "key"), "").start()
	p := startPostfix(t, "varied", s.milter)
	spam := text()
	first := p.send(message(spam))
	expectVerdict(t, first, "clean", 1, "varied")
	if r := s.cli("report", first.path); r.code != 0 {
		t.Fatalf("report: %+v", r)
	}

	varied := "Dear " + words[rand.IntN(len(words))] + ",\r\n\r\n" + lookAlikes(spam) + "\r\n" + text()
	second := p.send(message(varied))
	expectVerdict(t, second, "spam", 1, "varied")
	_, fields := second.verdict(t)
	found, _ := strconv.Atoi(fields["found"])
	need, _ := strconv.Atoi(fields["need"])
	if fields["kind"] != "sketch" || need < 1 || found < need {
		t.Errorf("fields %v, want kind=sketch and found at least need", fields)
	}
	if r := s.cli("explain", second.path); r.code != 0 || !strings.Contains(r.stdout, "sketch") {
		t.Errorf("explain: %+v", r)
	}
	if r := s.cli("explain", first.path, second.path); r.code != 0 || !strings.Contains(r.stdout, "sketch") {
		t.Errorf("explain of both: %+v", r)
	}
	expectVerdict(t, p.send(message(text())), "clean", 1, "varied")

	if r := s.cli("revoke", second.path); r.code != 0 {
		t.Fatalf("revoke: %+v", r)
	}
	expectVerdict(t, p.send(message(varied)), "clean", 2, "varied")
}

// lookAlikes writes some letters as Cyrillic ones that look the same.
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
