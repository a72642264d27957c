package commonness_test

import (
	"fmt"
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
