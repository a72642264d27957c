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
	// judging larger ones. lateBound is the part of each that messages beyond their quantum,
	// or of set-back networks, may take. Unit: bytes.
	judgingBound = 128 << 20
	lateBound    = judgingBound / 2
)

// signingMemory returns the memory for judging a message of that size. Unit: bytes.
func signingMemory(size int64) int64 {
	return signingBase + signingTables*min(size, Small) + signingText*min(size, signedText) + signingAll*size
}

// judgingMemory is the memory booked for judging. Messages of up to Small bytes have their
// own part, so that large ones cannot take it.
type judgingMemory struct{ small, large booked }

// booked is the memory booked in one part. Late messages hold at most lateBound of it, or the
// need of a single one that needs more. So lateBound remains for messages within their
// quantum, which a message that needs more than that may exceed only if no other one of its
// part is judged.
type booked struct {
	all  int64
	late int64 // part of all
}

func isLarge(n int64) bool { return n > signingMemory(Small) }

// of returns the part of a message that needs n bytes.
func (j *judgingMemory) of(n int64) *booked {
	if isLarge(n) {
		return &j.large
	}
	return &j.small
}

// hasRoom reports whether a message that needs n bytes may begin.
func (b *booked) hasRoom(n int64, isLate bool) bool {
	prompt := b.all - b.late
	if !isLate {
		prompt += n
	}
	fits := b.all+n <= judgingBound || prompt <= lateBound
	return b.all == 0 || fits && (!isLate || b.hasLateRoom(n))
}

// hasLateRoom reports whether a message that needs n bytes may become late.
func (b *booked) hasLateRoom(n int64) bool { return b.late == 0 || b.late+n <= lateBound }

// book adds n bytes, which are negative to give them back.
func (b *booked) book(n int64, isLate bool) {
	b.all += n
	if isLate {
		b.late += n
	}
}

// MostMemory returns the most memory that is booked at a time for judging messages of up to
// that size. Unit: bytes.
func MostMemory(size int64) int64 {
	return judgingBound + lateBound + max(lateBound, signingMemory(size))
}
