package commonness

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

const (
	// Enough is how many senders, and how many days, make a feature common.
	Enough = 3
	// oldDays is the least age of the oldest of these days.
	oldDays = 14
	// oldWeeks is the least age of a sender, in weeks: 15 to 21 days.
	oldWeeks = 3
	// reportWeight is how many days more a feature needs for each day on which it was reported.
	reportWeight = 2
	// clearDays is how many days of unreported mail a sender needs for each day of reports.
	clearDays = 10

	senders, days, reportDays = 64, 32, 16 // numbers of a feature's entries
	weeks, weekCopies         = 8, 3       // of a sender; entries for each week, so that none is old by chance

	room   = 8_000_000 // entries of a set
	shares = 64        // of a set, one of which a sender may fill on one day
	quotas = 1 << 10

	reportShares = 16 // of a set, one of which reports may fill on one day
)

// layers are the filters of a set. The next one is made when all before it are full. Each has an
// error of layerError when it is full; TestLayers compares the numbers with the formulas.
var layers = [...]struct {
	room  float64 // entries
	shape filter.BitsShape
	full  int64 // bits that are set when it has so many entries
	// closed is the number of bits that are set when an eighth of the room of all layers up to it is left.
	closed int64
}{
	{100_000, filter.BitsShape{K: 8, Span: 1, Lines: 2_852}, 615_944, 556_100},
	{900_000, filter.BitsShape{K: 8, Span: 1, Lines: 25_661}, 5_543_121, 4_942_453},
	{7_000_000, filter.BitsShape{K: 8, Span: 1, Lines: 199_579}, 43_112_811, 38_302_252},
}

const layerError = 0.0015

// layersBeside bounds the layers of a set beside one that has expired: they have room for the shares of seven
// senders, and an eighth is kept for what is reported meanwhile.
const layersBeside = 2

// Table holds the sets of one keyspace. It is safe for concurrent use.
type Table struct {
	opt  *layout.Settings
	ring *keyring.Ring

	sets   atomic.Pointer[[]*set] // newest first; replaced as a whole
	day    atomic.Int64           // of quota: that of the latest mail; changed under mu
	mu     sync.Mutex             // guards changes of sets, and all below
	quota  [quotas]int32          // entries that senders added on that day, by their hash
	recent recent

	byReports    atomic.Int32 // entries that reports added on that day
	expiredTicks int          // calls of Expire in a row that found an expired set
}

// set is what was learned in one period of reports. It is replaced when it gets another layer.
type set struct {
	gen     int64
	layers  []*filter.Bits
	changes *atomic.Int64
}

// add adds an entry to the newest layer. Earlier layers are not searched: a message that is learned
// again after they filled up takes room again.
func (s *set) add(entry filter.Hash) { s.layers[len(s.layers)-1].Set(entry) }

// isFull reports whether the newest layer is full.
func (s *set) isFull() bool {
	n := len(s.layers)
	return n == 0 || s.layers[n-1].Ones() > layers[n-1].full
}

// isClosed reports whether the newest layer of a set is the last one that it gets now, and an eighth of the set's
// room is left. That is for reports of what is common.
func (t *Table) isClosed(s *set) bool {
	n := len(s.layers)
	return n > 0 && n >= t.mostLayers() && s.layers[n-1].Ones() > layers[n-1].closed
}

// mostLayers returns how many layers the set of this period may get now.
func (t *Table) mostLayers() int {
	if t.hasExpired() {
		return layersBeside
	}
	return len(layers)
}

// New returns an empty table.
func New(opt *layout.Settings, ring *keyring.Ring) *Table {
	t := &Table{opt: opt, ring: ring}
	t.recent.secret = t.hash("\x00recent") // no domain
	t.sets.Store(new([]*set))
	return t
}

// Mail is unreported mail to learn from.
type Mail struct {
	Features []uint64
	Sender   string    // the proven domain of From; "": it is not learned
	Message  uint64    // hash of its text or body; 0: it has neither
	At       time.Time // of arrival; it decides the day

	// Archived: an administrator vouches for the message. No share of a sender bounds it, but it
	// leaves half of the newest layer to mail that arrives. From an age of oldDays on, its sender is
	// an old one.
	Archived bool
}

// Learn records the features of a message that nobody reported, and reports whether it did. Its
// sender counts for them if it is old. It is idempotent: a second copy of one sender on one day
// changes nothing. It does nothing if the set is full or the sender has used its share.
func (t *Table) Learn(m Mail) bool {
	if !t.Learns(m.Sender) {
		return false
	}
	day, week, isOld := t.dated(m)
	sender := t.hash(m.Sender)
	isOld = isOld || t.isOld(sender, week)
	features := append(slices.Clip(m.Features), everything)
	entries := len(features) + 1 + weekCopies
	if isOld {
		entries += len(features)
	}
	var s *set
	if m.Archived {
		s = t.forArchive()
	} else {
		s = t.current(sender, int32(entries), day)
	}
	if s == nil {
		return false
	}
	for _, f := range features {
		s.add(entry(f, ofDay, uint64(day)%days))
		if isOld {
			s.add(entry(f, ofSender, sender%senders))
		}
	}
	s.add(entry(sender, ofDay, uint64(day)%days))
	for _, e := range weekEntries(sender, week) {
		s.add(e)
	}
	t.recent.note(m.Message, sender, t.knows)
	s.changes.Add(1)
	return true
}

// Learns reports whether mail of a sender may be learned: it is proven, and the site learns.
func (t *Table) Learns(sender string) bool {
	return t != nil && !t.opt.Reports.NoCommonness && sender != ""
}

// dated returns the day and the week of a message. That of an archive may be of any time: what is
// older than the days have numbers, or is dated in the future, has an old day and week instead.
func (t *Table) dated(m Mail) (day, week int64, isOld bool) {
	day = dayOf(m.At)
	today := t.today()
	if !m.Archived || today-oldDays < day && day <= today {
		return day, day / 7, false
	}
	if day < today-days+1 || day > today {
		day = today - oldDays - int64(uint64(day)%batch)
	}
	return day, min(day/7, today/7-oldWeeks), true
}

// isOld reports whether mail of a sender arrived oldWeeks before a week or earlier.
func (t *Table) isOld(sender uint64, week int64) bool {
	sets := *t.sets.Load()
	for ago := int64(oldWeeks); ago < weeks; ago++ {
		if e := weekEntries(sender, week-ago); present(sets, e[:]) == len(e) {
			return true
		}
	}
	return false
}

// sendersOf returns the proven senders of a recent message.
func (t *Table) sendersOf(message uint64) []uint64 {
	if t == nil || t.opt.Reports.NoCommonness {
		return nil
	}
	return t.recent.sendersOf(message)
}

// IsLearning reports whether anything was learned that has not expired.
func (t *Table) IsLearning() bool {
	return t != nil && !t.opt.Reports.NoCommonness && len(*t.sets.Load()) > 0
}

// IsCommon reports whether a feature is common. A nil table has none.
func (t *Table) IsCommon(feature uint64) bool {
	if !t.IsLearning() {
		return false
	}
	onDays := t.onDays(feature)
	if onDays < Enough || t.count(feature, ofSender, senders, Enough) < Enough {
		return false
	}
	reported := t.count(feature, ofReport, reportDays, reportDays)
	least := Enough + reported
	return reported == 0 || onDays >= Enough+reportWeight*reported && t.count(feature, ofSender, senders, least) >= least
}

// onDays returns on how many days a feature was in unreported mail; 0 if none of them is old.
func (t *Table) onDays(feature uint64) int {
	sets, first := *t.sets.Load(), t.today()-oldDays-batch+1
	old := numbered(feature, ofDay, days, uint64(first))
	n := present(sets, old[:])
	if n == 0 {
		return 0
	}
	others := numbered(feature, ofDay, days, uint64(first+batch))
	return n + present(sets, others[:])
}

// Knows reports whether this site saw unreported mail of a proven From domain on at least Enough
// days, and on clearDays more for each day on which mail of it was reported.
func (t *Table) Knows(from string) bool {
	return from != "" && t.IsLearning() && t.knows(t.hash(from))
}

// knows is Knows for the hash of a domain.
func (t *Table) knows(f uint64) bool {
	least := Enough + clearDays*t.count(f, ofReport, reportDays, reportDays)
	return least <= days && t.count(f, ofDay, days, least) >= least
}

// today returns the day of the clock, or of the latest mail if that is later: where an archive is
// read and the clock stands still, reports have the days of its mail.
func (t *Table) today() int64 { return max(t.day.Load(), dayOf(t.opt.Now())) }

func dayOf(at time.Time) int64 { return at.Unix() / int64(24*time.Hour/time.Second) }

// Kinds of entries. The numbers are otherwise arbitrary.
const (
	ofSender = 0x8cb92ba72f3d8dd7
	ofDay    = 0xabc98388fb8fac03
	ofReport = 0x4cf5ad432745937f
	ofWeek   = 0x9fb21c651e98df25
)

// entry returns the position of an entry of a feature.
func entry(feature, kind, n uint64) filter.Hash {
	return keyring.Stretch(filter.Mix(feature^kind) + n*0x9e3779b97f4a7c15)
}

// batch is the number of entries that are looked up together, so that their cache misses overlap.
const batch = 16

// numbered returns the next entries of a feature from a number on, modulo the numbers of its kind.
func numbered(feature, kind, of, first uint64) (entries [batch]filter.Hash) {
	for i := range entries {
		entries[i] = entry(feature, kind, (first+uint64(i))%of)
	}
	return entries
}

// weekEntries returns the entries of a sender for a week.
func weekEntries(sender uint64, week int64) (entries [weekCopies]filter.Hash) {
	for i := range entries {
		entries[i] = entry(sender, ofWeek, uint64(week)%weeks*weekCopies+uint64(i))
	}
	return entries
}

// count returns how many of a feature's entries of a kind are in any set. It stops at most.
func (t *Table) count(feature, kind, of uint64, most int) (n int) {
	sets := *t.sets.Load()
	for first := uint64(0); first < of && n < most; first += batch {
		entries := numbered(feature, kind, of, first)
		n += present(sets, entries[:])
	}
	return min(n, most)
}

// present returns how many of at most batch entries are in any set. It reorders them.
func present(sets []*set, left []filter.Hash) (n int) {
	var buf [batch]bool
	for _, s := range sets {
		for _, l := range s.layers {
			absent := left[:0]
			for i, ok := range l.HasBatch(left, buf[:0]) {
				if !ok {
					absent = append(absent, left[i])
				}
			}
			n, left = n+len(left)-len(absent), absent
		}
	}
	return n
}

// hash returns the keyed hash of a name.
func (t *Table) hash(name string) uint64 {
	d := t.ring.Keyed.Sum(keyring.PurposeCommon, []byte(name))
	return binary.BigEndian.Uint64(d[:])
}

// Domain returns the feature of a link domain.
func (t *Table) Domain(domain string) uint64 {
	if t == nil {
		return 0
	}
	return filter.Mix(t.hash(domain))
}

// current returns the set of this period, and books entries of a sender on a day. It is nil if the
// set is full, or if the sender has used its share. Without entries to book, it is for a report,
// for which a part of the set is kept.
func (t *Table) current(sender uint64, entries int32, day int64) *set {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.day.Load() != day {
		t.day.Store(day)
		t.quota = [quotas]int32{}
		t.byReports.Store(0)
	}
	used := &t.quota[sender%quotas]
	if *used > room/shares-entries && entries > 0 {
		return nil
	}
	s := t.withRoom(t.now())
	if s == nil || entries > 0 && t.isClosed(s) {
		return nil
	}
	*used += entries
	return s
}

// forArchive returns the set of this period for mail of an archive. It is nil if the set is half full.
func (t *Table) forArchive() *set {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, last := t.withRoom(t.now()), len(layers)-1
	if s == nil || t.isClosed(s) || len(s.layers) > last && s.layers[last].Ones() > layers[last].full/2 {
		return nil
	}
	return s
}

// now returns the current period.
func (t *Table) now() int64 { return t.opt.Generation(layout.SpamFilter, t.opt.Now()) }

// withRoom returns the set of a period, with a layer that has room. It is nil if there is none, or
// no memory. While an expired set is kept, a new one has the first layersBeside layers only, which bounds the
// memory. A full layer is not returned for reports either: beyond its room it would seem to contain everything.
// The caller holds mu.
func (t *Table) withRoom(gen int64) *set {
	s := &set{gen: gen, changes: new(atomic.Int64)}
	sets := *t.sets.Load()
	i := slices.IndexFunc(sets, func(s *set) bool { return s.gen == gen })
	if i >= 0 {
		s = sets[i]
	}
	if !s.isFull() {
		return s
	}
	if len(s.layers) >= t.mostLayers() {
		return nil
	}
	bits, err := filter.NewBits(layers[len(s.layers)].shape)
	if err != nil {
		return nil
	}
	s = &set{gen, append(slices.Clip(s.layers), bits), s.changes}
	t.put(s)
	return s
}

// put adds a set, or replaces that of the same period. The caller holds mu.
func (t *Table) put(s *set) {
	sets := slices.DeleteFunc(slices.Clone(*t.sets.Load()), func(old *set) bool { return old.gen == s.gen })
	sets = append(sets, s)
	slices.SortFunc(sets, func(a, b *set) int { return cmp.Compare(b.gen, a.gen) })
	t.sets.Store(&sets)
}

// Expire drops the sets whose reports were expired at layout.KeepExpired calls in a row. It is called each second.
func (t *Table) Expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.hasExpired() {
		t.expiredTicks = 0
		return
	}
	if t.expiredTicks++; t.expiredTicks < layout.KeepExpired {
		return
	}
	t.expiredTicks = 0
	kept := slices.DeleteFunc(slices.Clone(*t.sets.Load()), func(s *set) bool { return t.isExpired(s.gen) })
	t.sets.Store(&kept)
}

func (t *Table) hasExpired() bool {
	return slices.ContainsFunc(*t.sets.Load(), func(s *set) bool { return t.isExpired(s.gen) })
}

// isExpired reports whether the reports of a period have expired.
func (t *Table) isExpired(gen int64) bool {
	return t.opt.Expired(layout.Target{Kind: layout.SpamFilter, Gen: gen})
}

// Memory returns the memory of the sets in bytes.
func (t *Table) Memory() (bytes int64) {
	for _, s := range *t.sets.Load() {
		for _, l := range s.layers {
			bytes += l.Shape().Bytes()
		}
	}
	return bytes
}

// MostMemory returns the largest memory of the sets of that many periods, in bytes, with those of a set that
// begins while an expired one is kept.
func MostMemory(keep int) (bytes int64) {
	for _, l := range layers {
		bytes += l.shape.Bytes()
	}
	bytes *= int64(keep)
	for _, l := range layers[:layersBeside] {
		bytes += l.shape.Bytes()
	}
	return bytes
}
