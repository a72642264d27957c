package commonness_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// site is a table whose clock the test sets.
type site struct {
	*commonness.Table
	settings *layout.Settings
	now      time.Time
}

func newSite() *site {
	s := &site{now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)}
	s.settings = &layout.Settings{Reports: layout.ReportOptions{Period: 168 * time.Hour, Keep: 5}, Now: func() time.Time { return s.now }}
	s.Table = commonness.New(s.settings, keyring.NewRing([32]byte{1}))
	return s
}

// receive learns mail with a feature from senders of these numbers, all today.
func (s *site) receive(feature uint64, senders ...int) {
	for _, n := range senders {
		name := fmt.Sprintf("sender%d.example", n)
		s.Learn(commonness.Mail{Features: []uint64{feature}, Sender: name, Message: filter.Mix(uint64(n)), At: s.now})
	}
}

func (s *site) nextDay() { s.now = s.now.Add(24 * time.Hour) }

// numbers returns n numbers.
func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

const feature = 0x1234567890abcdef

func TestCommon(t *testing.T) {
	for _, c := range []struct {
		name string
		days func(day int) []int // senders of each of ten days
		want bool
	}{
		{"nothing", func(int) []int { return nil }, false},
		{"one sender on ten days", func(int) []int { return []int{1} }, false},
		{"two senders on ten days", func(int) []int { return []int{1, 2} }, false},
		{"three senders on one day", func(day int) []int { return map[int][]int{3: {1, 2, 3}}[day] }, false},
		{"10,000 senders on two days", func(day int) []int { return map[int][]int{3: numbers(10_000), 4: numbers(10_000)}[day] }, false},
		{"a sender a day on five days", func(day int) []int { return map[int][]int{0: {1}, 3: {2}, 5: {3}, 6: {4}, 7: {5}}[day] }, true},
	} {
		s := newSite()
		for day := range 10 {
			s.receive(feature, c.days(day)...)
			s.nextDay()
		}
		if got := s.IsCommon(feature); got != c.want {
			t.Errorf("%s: common %v, want %v", c.name, got, c.want)
		}
		if s.IsCommon(feature + 1) {
			t.Errorf("%s: another feature is common", c.name)
		}
	}
}

// A sender who makes the features of his later spam common needs a domain of his own and a day for
// each: n days of harmless mail buy him n-3 days on which his spam is reported without its sketch.
func TestPoisoningBuysADayForADay(t *testing.T) {
	const harmless = 8
	s := newSite()
	for day := range harmless {
		s.receive(feature, day)
		s.nextDay()
	}
	bought := 0
	for ; bought < 30; bought++ {
		if s.Reported([]uint64{feature}, 0); !s.IsCommon(feature) {
			break
		}
		s.nextDay()
	}
	t.Logf("%d days of harmless mail buy %d days of spam", harmless, bought)
	if most := harmless - commonness.Enough; bought < 1 || bought > most { // two senders may share a number
		t.Errorf("%d days of harmless mail buy %d days of spam, want 1 to %d", harmless, bought, most)
	}
}

// A flood of one campaign from 10,000 hosts, each of which proves a domain of its own, buys nothing in two
// days, whatever its size, and nothing if it is reported on the third. Unreported for longer, it buys one
// day for each further day, and one for each day on which it goes on at one report a day.
func TestFloodBuysDays(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	for _, c := range []struct{ before, after, want int }{ // days of the flood before and after its first report; days bought
		{2, 9, 0}, {3, 9, 0}, {4, 0, 1}, {8, 0, 5}, {4, 9, 10},
	} {
		s, hosts := newSite(), numbers(10_000)
		for range c.before - 1 {
			s.receive(feature, hosts...)
			s.nextDay()
		}
		s.receive(feature, hosts...)
		bought := 0
		for day := 1; day < 30; day++ { // one report a day, until near copies are listed again
			if s.Reported([]uint64{feature}, 0); !s.IsCommon(feature) {
				break
			}
			bought++
			if s.nextDay(); day <= c.after {
				s.receive(feature, hosts...)
			}
		}
		t.Logf("10,000 hosts for %d days unreported, then for %d days: %d days on which reports list exact copies only", c.before, c.after, bought)
		if bought != c.want {
			t.Errorf("%d and %d days: %d days are bought, want %d", c.before, c.after, bought, c.want)
		}
	}
}

func TestCommonnessExpires(t *testing.T) {
	s := newSite()
	for day := range 4 {
		s.receive(feature, day)
		s.nextDay()
	}
	if !s.IsCommon(feature) || s.Memory() == 0 {
		t.Fatal("not common")
	}
	s.now = s.now.Add(5 * 168 * time.Hour)
	s.Expire()
	if s.IsCommon(feature) || s.Memory() != 0 {
		t.Error("common after five weeks without it")
	}
}

// Expired sets do not return with a restart, and are dropped when a new one is made.
func TestExpiredSetsAreDropped(t *testing.T) {
	s := newSite()
	gen := s.now.Unix() / (168 * 3600)
	s.receive(feature, 1)
	one, file := s.Memory(), written(t, s)
	s.now = s.now.Add(6 * 168 * time.Hour)
	if s.receive(feature, 1); s.Memory() != one {
		t.Errorf("%d bytes, want %d: that of the new set only", s.Memory(), one)
	}
	again := newSite()
	again.now = s.now
	if err := load(t, again, file, gen); err != nil || again.Memory() != 0 {
		t.Errorf("an expired set takes %d bytes after a restart, error %v", again.Memory(), err)
	}
}

func TestKnownSender(t *testing.T) {
	s := newSite()
	for day := range 3 {
		if s.Knows("sender1.example") {
			t.Fatalf("known after %d days", day)
		}
		s.receive(uint64(day), 1)
		s.nextDay()
	}
	if !s.Knows("sender1.example") || s.Knows("sender2.example") || s.Knows("") {
		t.Fatal("known: want sender1.example only")
	}
	s.Reported(nil, filter.Mix(1)) // its message
	if s.Knows("sender1.example") {
		t.Error("known although mail of it was reported")
	}
	for range 10 {
		s.receive(feature, 1)
		s.nextDay()
	}
	if !s.Knows("sender1.example") {
		t.Error("ten days without a report do not make up for one with a report")
	}
}

// One sender cannot use up the room of a day.
func TestOneSenderDoesNotFillTheSet(t *testing.T) {
	s := newSite()
	for i := range uint64(20_000) {
		features := make([]uint64, 128)
		for j := range features {
			features[j] = filter.Mix(i<<8 | uint64(j))
		}
		s.Learn(commonness.Mail{Features: features, Sender: "flood.example", At: s.now})
	}
	for day := range 3 {
		s.receive(feature, day)
		s.nextDay()
	}
	if !s.IsCommon(feature) {
		t.Error("others' mail is not learned after a flood of one sender")
	}
}

// An archive fills half of a set at most: mail that arrives is learned all the same.
func TestArchiveLeavesRoom(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	s := newSite()
	features := make([]uint64, 4000) // more than a message has, to fill the set with few calls
	archived := 0
	for ; archived < 5000; archived++ {
		for j := range features {
			features[j] = filter.Mix(uint64(archived<<16 | j))
		}
		if !s.Learn(commonness.Mail{Features: features, Sender: "list.example", At: s.now.AddDate(0, 0, -archived), Archived: true}) {
			break
		}
	}
	if entries := archived * 2 * len(features); entries < 4_000_000 || entries > 5_000_000 {
		t.Errorf("%d entries of an archive are learned", entries)
	}
	for day := range 3 {
		s.receive(feature, day)
		if day < 2 {
			s.nextDay()
		}
	}
	if !s.IsCommon(feature) {
		t.Error("mail that arrives is not learned after an archive")
	}
}

// TestFloodDoesNotKeepFeaturesCommon is the attack "full set": a spammer makes the features of his
// spam common, then fills the set with harmless mail of many networks, so that no report takes back
// what it lists. A part of the set is kept for reports.
func TestFloodDoesNotKeepFeaturesCommon(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	s := newSite()
	for day := range 4 {
		s.receive(feature, day)
		s.nextDay()
	}
	for i := range uint64(40_000) {
		features := make([]uint64, 128)
		for j := range features {
			features[j] = filter.Mix(i<<8 | uint64(j))
		}
		s.Learn(commonness.Mail{Features: features, Sender: fmt.Sprint("flood", i%128, ".example"), At: s.now})
	}
	late := uint64(feature + 1)
	if !s.IsCommon(feature) || s.IsCommon(late) {
		t.Fatal("the feature is not common before the report, or all are")
	}
	for range 3 {
		s.receive(late, numbers(10)...)
		s.Reported([]uint64{feature}, 0)
		s.nextDay()
	}
	if s.IsCommon(late) {
		t.Error("the set is not full")
	}
	if s.IsCommon(feature) {
		t.Error("reports do not take back what a full set has")
	}
}

func TestSwitchedOff(t *testing.T) {
	s := newSite()
	s.settings.Reports.NoCommonness = true
	for day := range 5 {
		s.receive(feature, day)
		s.nextDay()
	}
	if s.IsCommon(feature) || s.Knows("sender1.example") || s.Memory() != 0 || len(s.Snapshots()) != 0 {
		t.Error("it is off, and learns")
	}
}

func BenchmarkLearn(b *testing.B) {
	s := newSite()
	features := make([]uint64, 128)
	for i := 0; b.Loop(); i++ {
		for j := range features {
			features[j] = filter.Mix(uint64(i<<8 | j))
		}
		s.Learn(commonness.Mail{Features: features, Sender: fmt.Sprint(i), At: s.now})
	}
}

func BenchmarkIsCommon(b *testing.B) {
	s := newSite()
	for day := range 5 {
		s.receive(feature, numbers(20)...)
		_ = day
		s.nextDay()
	}
	for name, f := range map[string]uint64{"common": feature, "absent": feature + 1} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.IsCommon(f)
			}
		})
	}
}
