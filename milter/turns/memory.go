package turns

const (
	// Judging a message takes signingBase, plus signingTables times its first Small bytes,
	// plus signingText times its first signedText bytes (the text that is signed), plus
	// signingAll times the message: its body in one piece and its decoded parts. The
	// figures were measured with hostile messages and include garbage. Units: bytes.
	signingBase   = 256 << 10
	signingTables = 44
	signingText   = 10
	signedText    = 1 << 20
	signingAll    = 4
	// judgingBound is the memory for judging messages of up to Small bytes, and again for
	// judging larger ones. lateBound is the part of the latter that messages beyond their
	// quantum, or of set-back networks, may take. Unit: bytes.
	judgingBound = 128 << 20
	lateBound    = judgingBound / 2
)

// signingMemory returns the memory for judging a message of that size. Unit: bytes.
func signingMemory(size int64) int64 {
	return signingBase + signingTables*min(size, Small) + signingText*min(size, signedText) + signingAll*size
}

// judgingMemory is the memory booked for judging. Messages of up to Small bytes have their
// own part, so that large ones cannot take it. Of the other part, late messages hold at most
// lateBound, or the need of a single one that needs more. So lateBound remains for large
// messages within their quantum, which a message that needs more than that may exceed only
// if no other large one is judged.
type judgingMemory struct {
	small, large int64
	late         int64 // part of large
}

func isLarge(n int64) bool { return n > signingMemory(Small) }

// hasRoom reports whether a message that needs n bytes may begin.
func (j *judgingMemory) hasRoom(n int64, isLate bool) bool {
	if !isLarge(n) {
		return j.small+n <= judgingBound
	}
	prompt := j.large - j.late
	if !isLate {
		prompt += n
	}
	fits := j.large+n <= judgingBound || prompt <= lateBound
	return j.large == 0 || fits && (!isLate || j.hasLateRoom(n))
}

// hasLateRoom reports whether a large message that needs n bytes may become late.
func (j *judgingMemory) hasLateRoom(n int64) bool { return j.late == 0 || j.late+n <= lateBound }

func (j *judgingMemory) take(n int64, isLate bool) { j.book(n, 1, isLate) }
func (j *judgingMemory) give(n int64, isLate bool) { j.book(n, -1, isLate) }

// book adds sign times n bytes.
func (j *judgingMemory) book(n, sign int64, isLate bool) {
	if !isLarge(n) {
		j.small += sign * n
		return
	}
	j.large += sign * n
	if isLate {
		j.late += sign * n
	}
}

// MostMemory returns the most memory that is booked at a time for judging messages of up to
// that size. Unit: bytes.
func MostMemory(size int64) int64 {
	return judgingBound + lateBound + max(lateBound, signingMemory(size))
}
