package commonness_test

import (
	"fmt"
	"slices"
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

func (s *site) nextDay() {
	before := s.period()
	if s.now = s.now.Add(24 * time.Hour); s.period() != before {
		s.expire()
	}
}

func (s *site) period() int64 { return s.settings.Generation(layout.SpamFilter, s.now) }

// numbers returns n numbers.
func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

const (
	feature = 0x1234567890abcdef
	other   = 0xfedcba0987654321
)

// archive learns archived mail with a feature from senders of these numbers, each on another day more
// than two weeks ago.
func (s *site) archive(feature uint64, senders ...int) {
	for i, n := range senders {
		s.Learn(commonness.Mail{
			Features: []uint64{feature}, Sender: fmt.Sprintf("sender%d.example", n), At: s.now.AddDate(0, 0, -15-i), Archived: true,
		})
	}
}

// knowing returns a site that has known senders of these numbers for 16 days, by other mail.
func knowing(senders ...int) *site {
	s := newSite()
	s.receive(other, senders...)
	s.now = s.now.Add(16 * 24 * time.Hour)
	return s
}

func TestCommon(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	on := func(senders []int, days ...int) func(day int) []int {
		return func(day int) []int {
			if slices.Contains(days, day) {
				return senders
			}
			return nil
		}
	}
	old := numbers(1000)
	for _, c := range []struct {
		name string
		days func(day int) []int // senders of each day; those below 1,000 are old
		of   int                 // days
		want bool
	}{
		{"nothing", on(nil), 30, false},
		{"one sender on thirty days", func(int) []int { return []int{1} }, 30, false},
		{"two senders on thirty days", func(int) []int { return []int{1, 2} }, 30, false},
		{"1,000 senders on two days two weeks apart", on(old, 0, 15), 20, false},
		{"1,000 senders each day of two weeks", func(int) []int { return old }, 14, false},
		{"1,000 senders each day of 15 days", func(int) []int { return old }, 15, true},
		{"1,000 new senders each day of four weeks, each day others", func(day int) []int { return numbers(1000 * (day + 2))[1000*(day+1):] }, 28, false},
		{"1,000 new senders each day of two weeks", func(int) []int { return numbers(2000)[1000:] }, 15, false},
		{"two old and 1,000 new senders each day of two weeks", func(int) []int { return append(numbers(2000)[1000:], 1, 2) }, 15, false},
		{"some senders on three days, two weeks apart", func(day int) []int { return map[int][]int{0: {1, 2}, 7: {3, 4}, 14: {5, 6}}[day] }, 15, true},
		{"old senders on two of three days, new ones on the other", func(day int) []int { return map[int][]int{0: {1, 2, 3}, 9: {5000}, 14: {4, 5, 6}}[day] }, 15, true},
	} {
		s := knowing(old...)
		for day := range c.of {
			if day > 0 {
				s.nextDay()
			}
			s.receive(feature, c.days(day)...)
		}
		if got := s.IsCommon(feature); got != c.want {
			t.Errorf("%s: common %v, want %v", c.name, got, c.want)
		}
		if s.IsCommon(feature + 1) {
			t.Errorf("%s: another feature is common", c.name)
		}
	}
}

// TestFloodBuysDays says what an unreported campaign buys its sender, by its domains: days on each of
// which a report lists exact copies only. One report a day is made from the end of the days before on.
func TestFloodBuysDays(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	for _, c := range []struct {
		domains, known int // known: days for which the site has known the domains, at the first spam
		before, after  int // days of the campaign before and after its first report
		want           int
	}{
		{10_000, 0, 14, 30, 0}, {10_000, 0, 22, 0, 9}, {10_000, 0, 22, 30, 14},
		{3, 21, 4, 30, 0}, {3, 21, 28, 30, 0}, // the report asks for a fourth sender
		{64, 21, 4, 30, 0}, {64, 21, 14, 30, 0}, {64, 21, 15, 0, 6}, {64, 21, 15, 30, 11}, {64, 21, 28, 30, 14},
		{10_000, 21, 14, 30, 0}, {10_000, 21, 15, 30, 11},
	} {
		s, hosts := newSite(), numbers(c.domains)
		if c.known > 0 {
			s.receive(other, hosts...)
			s.now = s.now.Add(time.Duration(c.known) * 24 * time.Hour)
		}
		for day := range c.before {
			if day > 0 {
				s.nextDay()
			}
			s.receive(feature, hosts...)
		}
		bought := s.bought(c.after, hosts)
		t.Logf("%6d domains known for %2d days, %2d days of spam unreported, then for %2d days: %2d days on which reports list exact copies only",
			c.domains, c.known, c.before, c.after, bought)
		if bought != c.want {
			t.Errorf("want %d", c.want)
		}
	}
}

// bought makes one report a day, until near copies are listed, while spam arrives for so many days
// more. It returns the number of days on which a report lists exact copies only.
func (s *site) bought(after int, hosts []int) (days int) {
	for day := range 40 {
		if s.Reported([]uint64{feature}, 0); !s.IsCommon(feature) {
			break
		}
		days++
		if s.nextDay(); day < after {
			s.receive(feature, hosts...)
		}
	}
	return days
}

// A sender who makes the features of his later spam common needs domains that the site has known for
// more than two weeks, a further one for each day of reports, and two days of harmless mail for it.
func TestPoisoningBuysADayForTwo(t *testing.T) {
	for _, c := range []struct{ domains, days, want int }{{2, 28, 0}, {3, 28, 0}, {4, 28, 1}, {8, 28, 5}, {20, 28, 9}, {20, 15, 6}, {20, 14, 0}} {
		s := knowing(numbers(c.domains)...)
		for day := range c.days {
			s.receive(feature, day%c.domains)
			if day < c.days-1 {
				s.nextDay()
			}
		}
		bought := s.bought(0, nil)
		t.Logf("%d known domains, %d days of harmless mail: %d days of spam", c.domains, c.days, bought)
		if bought > c.want || bought < c.want-1 { // senders may share a number
			t.Errorf("want %d", c.want)
		}
	}
}

func TestCommonnessExpires(t *testing.T) {
	s := known(t)
	s.now = s.now.Add(5 * 168 * time.Hour)
	s.expire()
	if s.IsCommon(feature) || s.Memory() != 0 {
		t.Error("common after five weeks without it")
	}
}

// A clock that is weeks ahead for some minutes costs nothing: neither its looks nor the mail of that time drop a set.
func TestCommonnessOutlivesAClockAhead(t *testing.T) {
	s := known(t)
	before := s.Memory()
	for range 3 {
		s.now = s.now.Add(8 * 168 * time.Hour)
		for range layout.KeepExpired - 1 {
			s.Expire()
		}
		s.receive(other, 20)
		s.now = s.now.Add(-8 * 168 * time.Hour)
		s.Expire()
	}
	if !s.IsCommon(feature) {
		t.Error("not common after a clock ahead")
	}
	if one := newSite(); s.Memory() > before+firstLayer(one) {
		t.Errorf("%d bytes, %d before: more than another first layer", s.Memory(), before)
	}
}

// Beside an expired set, which is kept for ten minutes, the new one stays small, whatever one sender or many of them fill
// in; what is reported in that time is still taken back.
func TestCommonnessBesideExpired(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	s := known(t) // five weeks have passed
	before := s.Memory()
	for n := range 40_000 {
		var features []uint64
		for i := range 30 {
			features = append(features, filter.Mix(uint64(2_000_000+30*n+i)))
		}
		s.Learn(commonness.Mail{Features: features, Sender: fmt.Sprintf("sender%d.example", n%20), Message: filter.Mix(uint64(n)), At: s.now})
	}
	s.Reported([]uint64{feature}, 0)
	if s.IsCommon(feature) {
		t.Error("common although it was reported")
	}
	most := commonness.MostMemory(5) - 5*(commonness.MostMemory(5)-commonness.MostMemory(4))
	if grown := s.Memory() - before; grown == 0 || grown > most {
		t.Errorf("%d bytes more, want at most %d", grown, most)
	}
	if s.expire(); s.Memory() >= before+most {
		t.Error("nothing has expired")
	}
}

// expire calls Expire until expired sets are dropped.
func (s *site) expire() {
	for range layout.KeepExpired {
		s.Expire()
	}
}

// firstLayer returns the memory of a new set.
func firstLayer(s *site) int64 {
	s.receive(feature, 1)
	return s.Memory()
}

// almost returns a site at which the feature is common after two more days of mail of the senders 2 to 5.
func almost() *site {
	s := newSite()
	s.archive(other, 2, 3, 4, 5)
	s.archive(feature, 1)
	return s
}

// known returns a site at which the feature is common, by eight senders.
func known(t *testing.T) *site {
	t.Helper()
	s := knowing(numbers(8)...)
	for _, pause := range []time.Duration{0, 7, 7, 1} {
		s.now = s.now.Add(pause * 24 * time.Hour)
		s.receive(feature, numbers(8)...)
	}
	if !s.IsCommon(feature) || s.Memory() == 0 {
		t.Fatal("not common")
	}
	return s
}

// Expired sets are dropped, also after a restart.
func TestExpiredSetsAreDropped(t *testing.T) {
	s := newSite()
	gen := s.now.Unix() / (168 * 3600)
	s.receive(feature, 1)
	one, file := s.Memory(), written(t, s)
	s.now = s.now.Add(6 * 168 * time.Hour)
	s.expire()
	if s.receive(feature, 1); s.Memory() != one {
		t.Errorf("%d bytes, want %d: that of the new set only", s.Memory(), one)
	}
	again := newSite()
	again.now = s.now
	if err := load(t, again, file, gen); err != nil || again.Memory() != one {
		t.Errorf("an expired set takes %d bytes after a restart, error %v: a clock ahead would cost it", again.Memory(), err)
	}
	if again.expire(); again.Memory() != 0 {
		t.Errorf("it takes %d bytes ten minutes later", again.Memory())
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
	s := almost()
	for i := range uint64(20_000) {
		features := make([]uint64, 128)
		for j := range features {
			features[j] = filter.Mix(i<<8 | uint64(j))
		}
		s.Learn(commonness.Mail{Features: features, Sender: "flood.example", At: s.now})
	}
	for range 2 {
		s.receive(feature, 2, 3, 4, 5)
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
	s := almost()
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
	for range 2 {
		s.receive(feature, 2, 3, 4, 5)
		s.nextDay()
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
	s.archive(other, numbers(10)...)
	s.archive(feature, 0, 1, 2, 3)
	late := uint64(feature + 1)
	s.archive(late, 0)
	for i := range uint64(60_000) {
		features := make([]uint64, 128)
		for j := range features {
			features[j] = filter.Mix(i<<8 | uint64(j))
		}
		s.Learn(commonness.Mail{Features: features, Sender: fmt.Sprint("flood", i%128, ".example"), At: s.now})
	}
	if !s.IsCommon(feature) || s.IsCommon(late) {
		t.Fatal("the feature is not common before the report, or all are")
	}
	for range 3 {
		s.receive(late, numbers(10)...) // would make it common
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

// Archived mail of the last two weeks is learned as if it arrived, since its senders may be those of a
// campaign that nobody has reported yet. Mail of any other time makes its senders old, one dated in the
// future too.
func TestArchive(t *testing.T) {
	for days, want := range map[int]bool{0: false, 13: false, 14: true, 31: true, 32: true, 5000: true, -1: true, -5000: true} {
		s := newSite()
		for n := range 8 {
			s.Learn(commonness.Mail{Features: []uint64{other}, Sender: fmt.Sprintf("sender%d.example", n), At: s.now.AddDate(0, 0, -days), Archived: true})
		}
		s.archive(feature, 100)
		s.receive(feature, numbers(8)...)
		s.nextDay()
		s.receive(feature, numbers(8)...)
		if got := s.IsCommon(feature); got != want {
			t.Errorf("mail that is %d days old: its senders count %v, want %v", days, got, want)
		}
	}
}

func TestSwitchedOff(t *testing.T) {
	s := newSite()
	s.settings.Reports.NoCommonness = true
	s.archive(feature, numbers(8)...)
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
	s.archive(feature, numbers(20)...)
	for name, f := range map[string]uint64{"common": feature, "absent": feature + 1} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.IsCommon(f)
			}
		})
	}
}
