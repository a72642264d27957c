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
	// clearDays is how many days of unreported mail a sender needs for each day of reports.
	clearDays = 10

	senders, days, reportDays = 64, 32, 16 // numbers of a feature's entries

	room   = 8_000_000 // entries of a set
	shares = 64        // of a set, one of which a sender may fill on one day
	quotas = 1 << 10
)

// layers are the filters of a set. The next one is made when all before it are full. Each has an
// error of layerError when it is full; TestLayers compares the numbers with the formulas.
var layers = [...]struct {
	room  float64 // entries
	shape filter.BitsShape
	full  int64 // bits that are set when it has so many entries
}{
	{100_000, filter.BitsShape{K: 8, Span: 1, Lines: 2_852}, 615_944},
	{900_000, filter.BitsShape{K: 8, Span: 1, Lines: 25_661}, 5_543_121},
	{7_000_000, filter.BitsShape{K: 8, Span: 1, Lines: 199_579}, 43_112_811},
}

const layerError = 0.0015

// closed is the number of bits that the last layer has with forReports entries less than its room.
const (
	closed     = 38_302_252
	forReports = 1_000_000
)

// Table holds the sets of one keyspace. It is safe for concurrent use.
type Table struct {
	opt  *layout.Settings
	ring *keyring.Ring

	sets   atomic.Pointer[[]*set] // newest first; replaced as a whole
	mu     sync.Mutex             // guards changes of sets, and all below
	day    int64                  // of quota: that of the latest mail
	quota  [quotas]int32          // entries that senders added on that day, by their hash
	recent recent
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

// isClosed reports whether only reports are recorded: the rest of the set is for them.
func (s *set) isClosed() bool {
	return len(s.layers) == len(layers) && s.layers[len(layers)-1].Ones() > closed
}

// New returns an empty table.
func New(opt *layout.Settings, ring *keyring.Ring) *Table {
	t := &Table{opt: opt, ring: ring}
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
	// leaves half of the newest layer to mail that arrives.
	Archived bool
}

// Learn records the features of a message that nobody reported, and reports whether it did. It is
// idempotent: a second copy of one sender on one day changes nothing. It does nothing if the set is
// full or the sender has used its share.
func (t *Table) Learn(m Mail) bool {
	if t == nil || t.opt.Reports.NoCommonness || m.Sender == "" {
		return false
	}
	day, sender := dayOf(m.At), t.hash(m.Sender)
	var s *set
	if m.Archived {
		s = t.forArchive()
	} else {
		s = t.current(sender, int32(2*len(m.Features)+1), day)
	}
	if s == nil {
		return false
	}
	for _, f := range m.Features {
		s.add(entry(f, ofSender, sender%senders))
		s.add(entry(f, ofDay, uint64(day)%days))
	}
	s.add(entry(sender, ofDay, uint64(day)%days))
	t.recent.note(m.Message, sender)
	s.changes.Add(1)
	return true
}

// Reported takes back what was learned of a message that is reported now: from now on its features
// need a sender and a day more to be common, and its sender more days to be known.
func (t *Table) Reported(features []uint64, message uint64) {
	if !t.IsLearning() { // there is nothing to take back
		return
	}
	day := t.today()
	s := t.current(0, 0, day)
	if s == nil {
		return
	}
	if s.isClosed() { // the rest is for what a flood may have made common before
		features = slices.DeleteFunc(slices.Clone(features), func(f uint64) bool { return !t.IsCommon(f) })
	}
	if from, ok := t.recent.senderOf(message); ok {
		features = append(slices.Clip(features), from)
	}
	for _, f := range features {
		s.add(entry(f, ofReport, uint64(day)%reportDays))
	}
	s.changes.Add(1)
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
	least := Enough
	if t.count(feature, ofDay, days, least) < least || t.count(feature, ofSender, senders, least) < least {
		return false
	}
	reported := t.count(feature, ofReport, reportDays, reportDays)
	least += reported
	return reported == 0 || t.count(feature, ofDay, days, least) >= least && t.count(feature, ofSender, senders, least) >= least
}

// Knows reports whether this site saw unreported mail of a proven From domain on at least Enough
// days, and on clearDays more for each day on which mail of it was reported.
func (t *Table) Knows(from string) bool {
	if from == "" || !t.IsLearning() {
		return false
	}
	f := t.hash(from)
	least := Enough + clearDays*t.count(f, ofReport, reportDays, reportDays)
	return least <= days && t.count(f, ofDay, days, least) >= least
}

// today returns the day of the clock, or of the latest mail if that is later: where an archive is
// read and the clock stands still, reports have the days of its mail.
func (t *Table) today() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.day, dayOf(t.opt.Now()))
}

func dayOf(at time.Time) int64 { return at.Unix() / int64(24*time.Hour/time.Second) }

// Kinds of entries. The numbers are otherwise arbitrary.
const (
	ofSender = 0x8cb92ba72f3d8dd7
	ofDay    = 0xabc98388fb8fac03
	ofReport = 0x4cf5ad432745937f
)

// entry returns the position of an entry of a feature.
func entry(feature, kind, n uint64) filter.Hash {
	return keyring.Stretch(filter.Mix(feature^kind) + n*0x9e3779b97f4a7c15)
}

// batch is the number of entries that are looked up together, so that their cache misses overlap.
const batch = 16

// count returns how many of a feature's entries of a kind are in any set. It stops at most.
func (t *Table) count(feature, kind, of uint64, most int) (n int) {
	sets := *t.sets.Load()
	for first := uint64(0); first < of && n < most; first += batch {
		var entries [batch]filter.Hash
		for i := range entries {
			entries[i] = entry(feature, kind, first+uint64(i))
		}
		n += present(sets, entries)
	}
	return min(n, most)
}

// present returns how many of the entries are in any set.
func present(sets []*set, entries [batch]filter.Hash) (n int) {
	left := entries[:]
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
	if t.day != day {
		t.day, t.quota = day, [quotas]int32{}
	}
	used := &t.quota[sender%quotas]
	if *used > room/shares-entries && entries > 0 {
		return nil
	}
	s := t.withRoom(t.now())
	if s == nil || entries > 0 && s.isClosed() {
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
	if s == nil || len(s.layers) > last && s.layers[last].Ones() > layers[last].full/2 {
		return nil
	}
	return s
}

// now returns the current period.
func (t *Table) now() int64 { return t.opt.Generation(layout.SpamFilter, t.opt.Now()) }

// withRoom returns the set of a period, with a layer that has room. It is nil if there is none, or
// no memory. The caller holds mu.
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
	if len(s.layers) == len(layers) {
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

// put adds a set, or replaces that of the same period, and drops expired ones. The caller holds mu.
func (t *Table) put(s *set) {
	sets := slices.DeleteFunc(slices.Clone(*t.sets.Load()), func(old *set) bool { return old.gen == s.gen || t.isExpired(old.gen) })
	sets = append(sets, s)
	slices.SortFunc(sets, func(a, b *set) int { return cmp.Compare(b.gen, a.gen) })
	t.sets.Store(&sets)
}

// Expire drops the sets whose reports have expired.
func (t *Table) Expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(*t.sets.Load()), func(s *set) bool { return t.isExpired(s.gen) })
	t.sets.Store(&kept)
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

// MostMemory returns the largest memory of the sets of that many periods, in bytes.
func MostMemory(keep int) (bytes int64) {
	for _, l := range layers {
		bytes += l.shape.Bytes()
	}
	return int64(keep) * bytes
}
