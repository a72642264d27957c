package record

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
)

// Opinion is the latest statement of one reporter in a tally.
type Opinion struct {
	Reporter uint32
	Report   uint64
	At       time.Time // whole seconds
	Weight   Weight
	Ham      bool
	Early    bool // others may still confirm it
	Idle     bool // a revocation of a message that nobody had reported
}

// Tally sums the opinions about one signature, or about one anchor.
type Tally struct {
	Sums    [2]Weight // by Stance
	Listed  bool      // it has reached the quorum, and was not revoked since
	Revoked time.Time // by a quorum; zero: never
	Lost    time.Time // revoked because it lost its quorum; zero: never

	Held   bool   // one reporter does not list it, whatever the weight: it would hit much unreported mail
	Voices uint64 // reporters with a weight whose latest statement is spam

	Inline []Opinion // the first ones
	More   uint64    // number of opinions in the bucket of that name
	Past   []uint64  // reports that no longer count, the latest last
}

const (
	MaxInline = 16 // opinions in a tally; more are in the bucket of opinions
	maxPast   = 16

	pastRevocations = 12 // of them: more than a period has rungs at a quorum of 1, by which revocations are bounded
)

// Encode returns the form of the tally in the file.
func (y *Tally) Encode() []byte {
	b := []byte{boolByte(y.Listed) | boolByte(y.Held)<<1}
	for _, v := range []uint64{uint64(y.Sums[Spam]), uint64(y.Sums[Ham]), y.Voices, seconds(y.Revoked), seconds(y.Lost), y.More, uint64(len(y.Inline))} {
		b = binary.AppendUvarint(b, v)
	}
	for _, o := range y.Inline {
		b = binary.AppendUvarint(b, uint64(o.Reporter))
		b = o.Append(b)
	}
	b = binary.AppendUvarint(b, uint64(len(y.Past)))
	for _, n := range y.Past {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// seconds returns the seconds since 1970; 0 for the zero time.
func seconds(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.Unix())
}

// instant is the inverse of seconds.
func instant(seconds uint64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}

// Append appends the form of the opinion in the file, without the reporter.
func (o Opinion) Append(b []byte) []byte {
	flags := byte(0)
	if o.Ham {
		flags |= 1
	}
	if o.Early {
		flags |= 2
	}
	if o.Idle {
		flags |= 4
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, o.Report)
	b = binary.AppendUvarint(b, uint64(o.At.Unix()))
	return binary.AppendUvarint(b, uint64(o.Weight))
}

func (d *decoder) opinion(reporter uint32) Opinion {
	flags := d.byte()
	if flags > 7 {
		d.bad = true
	}
	return Opinion{
		Reporter: reporter, Ham: flags&1 != 0, Early: flags&2 != 0, Idle: flags&4 != 0,
		Report: d.number(math.MaxUint64), At: time.Unix(int64(d.number(math.MaxInt64/2)), 0).UTC(), Weight: Weight(d.number(math.MaxInt32)),
	}
}

// DecodeTally reads a tally.
func DecodeTally(data []byte) (*Tally, error) {
	d := &decoder{b: data}
	y := &Tally{}
	flags := d.byte()
	y.Listed, y.Held = flags&1 != 0, flags&2 != 0
	y.Sums[Spam], y.Sums[Ham] = Weight(d.number(math.MaxInt64/2)), Weight(d.number(math.MaxInt64/2))
	y.Voices = d.number(math.MaxUint32)
	y.Revoked, y.Lost = instant(d.number(math.MaxInt64/2)), instant(d.number(math.MaxInt64/2))
	y.More = d.number(math.MaxUint32)
	for range d.number(MaxInline) {
		y.Inline = append(y.Inline, d.opinion(uint32(d.number(math.MaxUint32))))
	}
	for range d.number(maxPast) {
		y.Past = append(y.Past, d.number(math.MaxUint64))
	}
	if d.bad || flags > 3 || len(d.b) > 0 {
		return nil, fmt.Errorf("tally: %w: %d bytes", ErrDamaged, len(data))
	}
	return y, nil
}

// OpinionKey returns the key of a reporter's opinion in a tally.
func OpinionKey(k Key, reporter uint32) []byte {
	return binary.BigEndian.AppendUint32(slices.Clone(k[:]), reporter)
}

// DecodeOpinion reads the opinion of a reporter.
func DecodeOpinion(reporter uint32, data []byte) (Opinion, error) {
	d := &decoder{b: data}
	o := d.opinion(reporter)
	if d.bad || len(d.b) > 0 {
		return o, fmt.Errorf("opinion: %w: %d bytes", ErrDamaged, len(data))
	}
	return o, nil
}

// Stance returns the reporter's statement.
func (o Opinion) Stance() Stance {
	if o.Ham {
		return Ham
	}
	return Spam
}

// IsVoice reports whether the opinion is one of a tally's Voices.
func (o Opinion) IsVoice() bool { return !o.Ham && !o.Idle && o.Weight > 0 }

// Sums returns what the opinion adds to those of a tally.
func (o Opinion) Sums() (sums [2]Weight) {
	if !o.Idle {
		sums[o.Stance()] = o.Weight
	}
	return sums
}

// Add adds an opinion to the sums.
func (y *Tally) Add(o Opinion) {
	if o.Idle {
		return
	}
	y.Sums[o.Stance()] += o.Weight
	if o.IsVoice() {
		y.Voices++
	}
}

// Subtract removes an opinion from the sums.
func (y *Tally) Subtract(o Opinion) {
	if o.Idle {
		return
	}
	y.Sums[o.Stance()] = max(y.Sums[o.Stance()]-o.Weight, 0)
	if o.IsVoice() {
		y.Voices = max(y.Voices, 1) - 1
	}
}

// IsWaiting reports whether the key is held: one reporter reported it, and waits for another.
func (y *Tally) IsWaiting() bool { return y.Held && y.Voices == 1 }

// Deciding returns the weight of a stance. What is held has none until a second reporter has
// reported it.
func (y *Tally) Deciding(s Stance) Weight {
	if s == Spam && y.IsWaiting() {
		return 0
	}
	return y.Sums[s]
}

// Unlist marks a listed key as revoked, because it has lost its quorum.
func (y *Tally) Unlist(at time.Time) {
	if y.Listed {
		y.Listed, y.Lost = false, at.Truncate(time.Second).UTC()
	}
}

// IsRevoked reports whether the key was revoked by a quorum, and not listed since.
func (y *Tally) IsRevoked() bool { return !y.Listed && !y.Revoked.IsZero() }

// IsContested reports whether a key that was not held was revoked, with the word of somebody else than
// the reporter who adds own to the sums.
func (y *Tally) IsContested(own [2]Weight) bool {
	return y.IsRevoked() && !y.Held && y.Sums[Ham] > own[Ham]
}

// HasLost reports whether the key has lost its quorum, and was neither listed nor revoked since.
func (y *Tally) HasLost() bool { return !y.Listed && !y.Lost.IsZero() && !y.Lost.Before(y.Revoked) }

// one is the weight of a reporter who decides alone, where the quorum is no more.
const one Weight = 1000

// Need returns the weight of reports that lists the key: the quorum, and twice as much against
// a revocation of the current period whose reporters stand by it with a quorum. Where one
// reporter is a quorum, one other reporter is enough.
func (y *Tally) Need(quorum Weight, period time.Time) Weight {
	if y.IsRevoked() && !y.Revoked.Before(period) && y.Sums[Ham] >= quorum && quorum > one {
		return 2 * quorum
	}
	return quorum
}

// Reports returns the weight of reports, as a share of the quorum: it is at least the quorum
// if the reports list the key.
func (y *Tally) Reports(quorum Weight, period time.Time) Weight {
	if y.Need(quorum, period) > quorum {
		return y.Deciding(Spam) / 2
	}
	return y.Deciding(Spam)
}

// List notes that reports list a key, and returns whether it was not listed.
func (y *Tally) List() (isNew bool) {
	isNew, y.Listed = !y.Listed, true
	return isNew
}

// Revoke notes that revocations revoke a key, and returns whether it was not revoked.
func (y *Tally) Revoke(at time.Time) (isNew bool) {
	isNew = !y.IsRevoked()
	if isNew || y.Sums[Spam] > 0 {
		y.Revoked = at.Truncate(time.Second)
	}
	y.Listed = false
	return isNew
}

// Remember adds a report that no longer counts. The oldest of more than maxPast is forgotten, but
// the latest pastRevocations revocations of the period stay: otherwise the reports that a spam gets after a
// revocation would hide who has made it.
func (y *Tally) Remember(report uint64, isRevocation func(report uint64) bool) {
	if slices.Contains(y.Past, report) {
		return
	}
	y.Past = append(y.Past, report)
	if len(y.Past) > maxPast {
		i := max(0, slices.IndexFunc(y.Past[:pastRevocations+1], func(n uint64) bool { return !isRevocation(n) }))
		y.Past = slices.Delete(y.Past, i, i+1)
	}
}

// Forget removes a report that no longer counts.
func (y *Tally) Forget(report uint64) {
	y.Past = slices.DeleteFunc(y.Past, func(n uint64) bool { return n == report })
}

// SetEarly sets whether a report may still be confirmed.
func (y *Tally) SetEarly(report uint64, early bool) {
	for i := range y.Inline {
		if y.Inline[i].Report == report {
			y.Inline[i].Early = early
		}
	}
}
