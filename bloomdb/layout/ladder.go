package layout

import (
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// # Ladder
//
// Reports and revocations of one signature in one generation are the rungs of a ladder. Rung 0
// is the key in the spam filter, rung 1 the key in the revocation filter, rung r >= 2 a key
// derived from the signature's and r in the ladder filter (keyring.RungSeed). An even rung is
// a report, an odd one a revocation. The top is the highest rung below which none is missing,
// and decides. A change of mind writes the rung above the top. Rungs are only added, so filters
// are joined by OR, in any order.
//
// A site that writes rung r also writes rungs 2 to r-1, and the key in the spam or revocation
// filter, whichever rungs of others it has. Its part then has the same top where other parts are
// missing, late or not trusted.
//
// Without bounds, one fully trusted site could write all rungs at once, or two reporters could use
// them up, and nobody could list the message before the next generation. So of other sites' rungs
// only the first SharedRungs count, and the last two are kept for an administrator.
//
// Only a signature that is in both filters of a generation is looked up in the ladder.

// Rungs is the number of rungs in one generation: 8 reports and 8 revocations. The last one is
// a revocation. A site that writes all rungs at once can therefore clear a message for the rest
// of the generation, as a revocation could without a ladder, but cannot list one beyond recall.
const Rungs = 1 << rungBits

const rungBits = 4

// Rungs that not everybody can use.
const (
	SharedRungs   = 8         // rungs from this one on count only at the site that wrote them
	ReporterRungs = Rungs - 2 // rungs from this one on are those of messages that an administrator settled
)

// FirstRung is the first rung in the ladder filter.
const FirstRung = 2

// ladderShare is the number of planned signatures for each planned key in the ladder filter. A
// signature that changes sides n times takes n-1 keys. One in 64 may thus be contested eight
// times.
const ladderShare = 8

// RungsPerGeneration returns the number of keys that the ladder filter of one generation has
// room for.
func (o *Settings) RungsPerGeneration() float64 { return o.KeysPerGeneration() / ladderShare }

// LadderShape returns the shape of a ladder filter. A wrong rung turns the verdict of a
// contested message, so the error is that of a spam filter.
func (o *Settings) LadderShape() filter.BitsShape {
	return filter.SizeBits(o.RungsPerGeneration(), o.lookupError(), 16)
}

// IsRevocation reports whether a rung, or a top, is a revocation. -1 is the top of a ladder
// without rungs.
func IsRevocation(rung int) bool { return rung%2 == 1 }

// NextRung returns the rung at which a report or a revocation holds, over a top: the top if it
// is one of the same kind, else the next one. ok is false if none of the first most rungs is left.
func NextRung(kind Kind, top, most int) (rung int, ok bool) {
	rung = max(top, 0)
	if IsRevocation(rung) != (kind == RevokedFilter) {
		rung++
	}
	return rung, rung < most
}

// Turn is a report or a revocation after one of the other kind, or the first word of a signature.
type Turn struct {
	At      time.Time
	Revoked bool
}

// RungAfter returns the rung of a word of a kind after the turns of one generation, as far as other sites
// count it. isIn reports whether a turn is of that generation.
func (k Kind) RungAfter(turns []Turn, isIn func(Kind, time.Time) bool) int {
	top := -1
	for _, turn := range turns {
		of := SpamFilter
		if turn.Revoked {
			of = RevokedFilter
		}
		if rung, ok := NextRung(of, top, SharedRungs); ok && isIn(of, turn.At) {
			top = rung
		}
	}
	rung, ok := NextRung(k, top, SharedRungs)
	if !ok {
		rung -= 2
	}
	return rung
}

// RungsTo returns the rungs of the ladder filter up to a top; none if that is a word of the other kind.
func (k Kind) RungsTo(top int) (rungs []int) {
	if IsRevocation(top) != (k == RevokedFilter) {
		return nil
	}
	for r := FirstRung; r <= min(top, ReporterRungs-1); r++ {
		rungs = append(rungs, r)
	}
	return rungs
}

// Word is a report or a revocation in the order of words: by generation, then by rung. A larger
// one is newer.
type Word int64

// NewWord returns the word of a rung in a generation.
func NewWord(gen int64, rung int) Word { return Word(gen*Rungs + int64(rung)) }

// Gen returns the generation of a word.
func (w Word) Gen() int64 { return int64(w) >> rungBits }

// Rung returns the rung of a word.
func (w Word) Rung() int { return int(w & (Rungs - 1)) }
