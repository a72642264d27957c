package commonness_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// flood learns n features of mail of new senders, as many of each as one may have a day, and returns them.
func (s *site) flood(n int) (features []uint64) {
	const perSender, perMail = 120_000, 4_000
	for i := range n {
		features = append(features, filter.Mix(uint64(9_000_000+i)))
	}
	for at := 0; at < n; at += perMail {
		sender := fmt.Sprintf("flood%d.example", at/perSender)
		s.Learn(commonness.Mail{Features: features[at:min(at+perMail, n)], Sender: sender, At: s.now})
	}
	return features
}

// unknownReported returns how many of 1,000 senders that the site never saw seem to have been reported.
func (s *site) unknownReported() (n int) {
	for i := range 1_000 {
		if s.WasReported(fmt.Sprintf("unknown%d.example", i)) {
			n++
		}
	}
	return n
}

// A set keeps to its room while an expired one is kept beside it: what many mails and reports contain then
// does not make it contain everything.
func TestReportsBesideExpiredKeepToTheRoom(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	s := known(t) // five weeks have passed
	flood := s.flood(1_000_000)[:500_000]
	for at := 0; at < len(flood); at += 1_000 {
		s.Reported(flood[at:at+1_000], 0)
	}
	if n := s.unknownReported(); n > 50 { // 16 entries of a sender, each with an error of 0.15 % in two full layers
		t.Errorf("%d of 1,000 senders that the site never saw seem to have been reported", n)
	}
	if s.Reported([]uint64{feature}, 0); s.IsCommon(feature) {
		t.Error("common although it was reported")
	}
	late := commonness.Mail{Features: []uint64{other}, Sender: "late.example", At: s.now}
	if s.Learn(late) {
		t.Error("mail takes the room that is kept for reports of what is common")
	}
	if s.expire(); !s.Learn(late) {
		t.Error("nothing is learned after the expired set was dropped")
	}
}

// Features that no mail had take no room of a set, however many a reporter invents. Of others, reports fill a
// sixteenth of a set on one day: beyond that, they take back what is common only. A report for which there is no
// room any more has to be made on another day to count for what is not common yet.
func TestReportersDoNotFillTheSet(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	invented := make([]uint64, 120_000)
	for i := range invented {
		invented[i] = filter.Mix(uint64(5_000_000 + i))
	}
	for _, c := range []struct {
		name      string
		flood     func(s *site) []uint64
		isCounted bool
	}{
		{"nothing", func(*site) []uint64 { return nil }, true},
		{"invented features", func(*site) []uint64 { return invented }, true},
		{"learned features", func(s *site) []uint64 { return s.flood(520_000) }, false},
		{"a few learned features again and again", func(s *site) []uint64 { return slices.Repeat(s.flood(1_000), 600) }, true},
	} {
		s := known(t)
		s.expire()
		s.archive(other, numbers(3)...)
		late := uint64(other + 1)
		s.archive(late, 1)
		before := s.Memory()
		flood := c.flood(s)
		learned := s.Memory()
		for ; len(flood) > 0; flood = flood[1_000:] {
			s.Reported(flood[:1_000], 0)
		}
		if c.isCounted && s.Memory() != before {
			t.Errorf("%s: %d bytes, %d before the reports, %d before", c.name, s.Memory(), learned, before)
		}
		s.Reported([]uint64{late, feature}, 0)
		if s.IsCommon(feature) {
			t.Errorf("%s: what is common is not taken back", c.name)
		}
		for range 2 { // enough for a feature that was not reported
			s.nextDay()
			s.receive(late, numbers(3)...)
		}
		if s.IsCommon(late) == c.isCounted {
			t.Errorf("%s: the report of what is not common is counted: %v, want %v", c.name, !c.isCounted, c.isCounted)
		}
	}
}
