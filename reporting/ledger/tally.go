package ledger

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
)

// opinion is one reporter's word in a tally: the latest.
type opinion struct {
	reporter uint32
	report   uint64
	at       time.Time // whole seconds
	weight   Weight
	ham      bool
	early    bool // may still be confirmed by others
	idle     bool // a revocation of what nobody had reported
}

// tally is what is said of one signature, or of one anchor.
type tally struct {
	sums    [2]Weight // by Stance
	listed  bool      // it had the quorum, and was not revoked since
	revoked time.Time // when others took it back; zero: never
	lost    time.Time // when it was revoked since it had lost its quorum; zero: never

	inline []opinion // the first ones
	more   uint64    // so many others stand in the bucket of opinions
	past   []uint64  // reports that no longer count, the latest last
}

const (
	maxInline = 16
	maxPast   = 16
)

func (y *tally) encode() []byte {
	b := []byte{0}
	if y.listed {
		b[0] = 1
	}
	for _, v := range []uint64{uint64(y.sums[Spam]), uint64(y.sums[Ham]), seconds(y.revoked), seconds(y.lost), y.more, uint64(len(y.inline))} {
		b = binary.AppendUvarint(b, v)
	}
	for _, o := range y.inline {
		b = binary.AppendUvarint(b, uint64(o.reporter))
		b = o.append(b)
	}
	b = binary.AppendUvarint(b, uint64(len(y.past)))
	for _, n := range y.past {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// seconds is a time since 1970, 0 for none.
func seconds(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.Unix())
}

// instant is the inverse.
func instant(seconds uint64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}

func (o opinion) append(b []byte) []byte {
	flags := byte(0)
	if o.ham {
		flags |= 1
	}
	if o.early {
		flags |= 2
	}
	if o.idle {
		flags |= 4
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, o.report)
	b = binary.AppendUvarint(b, uint64(o.at.Unix()))
	return binary.AppendUvarint(b, uint64(o.weight))
}

func (d *decoder) opinion(reporter uint32) opinion {
	flags := d.byte()
	if flags > 7 {
		d.bad = true
	}
	return opinion{
		reporter: reporter, ham: flags&1 != 0, early: flags&2 != 0, idle: flags&4 != 0,
		report: d.number(math.MaxUint64), at: time.Unix(int64(d.number(math.MaxInt64/2)), 0).UTC(), weight: Weight(d.number(math.MaxInt32)),
	}
}

func decodeTally(data []byte) (*tally, error) {
	d := &decoder{b: data}
	y := &tally{}
	flags := d.byte()
	y.listed = flags == 1
	y.sums[Spam], y.sums[Ham] = Weight(d.number(math.MaxInt64/2)), Weight(d.number(math.MaxInt64/2))
	y.revoked, y.lost = instant(d.number(math.MaxInt64/2)), instant(d.number(math.MaxInt64/2))
	y.more = d.number(math.MaxUint32)
	for range d.number(maxInline) {
		y.inline = append(y.inline, d.opinion(uint32(d.number(math.MaxUint32))))
	}
	for range d.number(maxPast) {
		y.past = append(y.past, d.number(math.MaxUint64))
	}
	if d.bad || flags > 1 || len(d.b) > 0 {
		return nil, fmt.Errorf("tally: %w: %d bytes", ErrDamaged, len(data))
	}
	return y, nil
}

// tally reads a tally; an empty one where there is none.
func (t *txn) tally(k Key) (*tally, error) {
	data := t.tallies.Get(k[:])
	if data == nil {
		return &tally{}, nil
	}
	return decodeTally(data)
}

// putTally writes a tally, or deletes one of which nothing is left to say.
func (t *txn) putTally(k Key, y *tally) error {
	if len(y.inline) == 0 && y.more == 0 && len(y.past) == 0 {
		return t.tallies.Delete(k[:])
	}
	return t.tallies.Put(k[:], y.encode())
}

func opinionKey(k Key, reporter uint32) []byte {
	return binary.BigEndian.AppendUint32(slices.Clone(k[:]), reporter)
}

// opinionOf is a reporter's word in a tally.
func (t *txn) opinionOf(k Key, y *tally, reporter uint32) (opinion, bool, error) {
	for _, o := range y.inline {
		if o.reporter == reporter {
			return o, true, nil
		}
	}
	if y.more == 0 {
		return opinion{}, false, nil
	}
	data := t.opinions.Get(opinionKey(k, reporter))
	if data == nil {
		return opinion{}, false, nil
	}
	o, err := decodeOpinion(reporter, data)
	return o, err == nil, err
}

func decodeOpinion(reporter uint32, data []byte) (opinion, error) {
	d := &decoder{b: data}
	o := d.opinion(reporter)
	if d.bad || len(d.b) > 0 {
		return o, fmt.Errorf("opinion: %w: %d bytes", ErrDamaged, len(data))
	}
	return o, nil
}

func (o opinion) stance() Stance {
	if o.ham {
		return Ham
	}
	return Spam
}

// addOpinion counts a reporter's word.
func (t *txn) addOpinion(k Key, y *tally, o opinion) error {
	y.sums[o.stance()] += o.weight
	if len(y.inline) < maxInline {
		y.inline = append(y.inline, o)
		return nil
	}
	y.more++
	return t.opinions.Put(opinionKey(k, o.reporter), o.append(nil))
}

// removeOpinion takes a reporter's word out of the count; its report stays known.
func (t *txn) removeOpinion(k Key, y *tally, o opinion) error {
	y.sums[o.stance()] = max(y.sums[o.stance()]-o.weight, 0)
	y.remember(o.report)
	for i, known := range y.inline {
		if known.reporter == o.reporter {
			y.inline = slices.Delete(y.inline, i, i+1)
			return nil
		}
	}
	y.more = max(y.more, 1) - 1
	return t.opinions.Delete(opinionKey(k, o.reporter))
}

// unlist says that what was listed has lost its quorum, and is revoked.
func (y *tally) unlist(at time.Time) {
	if y.listed {
		y.listed, y.lost = false, at.Truncate(time.Second).UTC()
	}
}

// effective says whether what is listed in a period is not hidden by a revocation of the
// same one.
func (y *tally) effective(period time.Time) bool {
	return y.revoked.Before(period) && y.lost.Before(period)
}

func (y *tally) remember(report uint64) {
	if slices.Contains(y.past, report) {
		return
	}
	y.past = append(y.past, report)
	y.past = y.past[max(len(y.past)-maxPast, 0):]
}

// eachOpinion visits all words in a tally, until visit is false.
func (t *txn) eachOpinion(k Key, y *tally, visit func(opinion) bool) error {
	for _, o := range y.inline {
		if !visit(o) {
			return nil
		}
	}
	if y.more == 0 {
		return nil
	}
	c := t.opinions.Cursor()
	for name, data := c.Seek(k[:]); len(name) == len(k)+4 && Key(name) == k; name, data = c.Next() {
		o, err := decodeOpinion(binary.BigEndian.Uint32(name[len(k):]), data)
		if err != nil {
			return err
		}
		if !visit(o) {
			return nil
		}
	}
	return nil
}

func (y *tally) forget(report uint64) {
	y.past = slices.DeleteFunc(y.past, func(n uint64) bool { return n == report })
}
