package milter

// The memory of a server has these parts, each with its bound:
//
//   - The messages in flight: MaxMemory together, and share beyond it for each
//     connection. This is Server.held.
//   - The packets being read: an ordinary one for each connection. The rest of a longer one
//     is charged to MaxMemory. This is Server.packets.
//   - Judging: twice judgingBound; see judgingMemory.
//   - The fixed cost of a connection: perConnection.
//   - Decoded images and unpacked archives: 64 MiB for each of maxUnpacking slots.
//
// MostMemory is the sum of the first four.

const (
	// Judging a message takes signingBase, plus signingTables times its first share bytes,
	// plus signingText times its first signedText bytes (the text that is signed), plus
	// signingAll times the message: its body in one piece and its decoded parts. The
	// figures were measured with hostile messages and include garbage. Units: bytes.
	signingBase   = 256 << 10
	signingTables = 44
	signingText   = 10
	signedText    = 1 << 20
	signingAll    = 4
	// judgingBound is the memory for judging messages of up to share bytes, and again for
	// judging larger ones. Unit: bytes.
	judgingBound = 128 << 20
	// perConnection is the memory for the stacks, buffers and envelope of a connection.
	// Unit: bytes.
	perConnection = 32 << 10
)

// signingMemory returns the memory for judging a message of that size. Unit: bytes.
func signingMemory(size int64) int64 {
	return signingBase + signingTables*min(size, share) + signingText*min(size, signedText) + signingAll*size
}

// judgingMemory is the memory booked for judging. Messages of up to share bytes have their
// own part, so that large ones cannot take it. A message that needs more than the bound is
// judged while no other large one is.
type judgingMemory struct{ small, large int64 }

func (j *judgingMemory) of(n int64) *int64 {
	if n <= signingMemory(share) {
		return &j.small
	}
	return &j.large
}

func (j *judgingMemory) hasRoom(n int64) bool {
	held := *j.of(n)
	return held == 0 || held+n <= judgingBound
}

func (j *judgingMemory) take(n int64) { *j.of(n) += n }
func (j *judgingMemory) give(n int64) { *j.of(n) -= n }

// MostMemory returns the memory bound of the options in force.
func (s *Server) MostMemory() int64 { return s.options.Load().MostMemory() }

// MostMemory returns the most memory that a server with these options uses for mail,
// whatever its clients do. Decoded images are not included. Unit: bytes.
func (o Options) MostMemory() int64 {
	w := o.withDefaults()
	return w.MaxMemory + int64(w.MaxConnections)*(share+ordinary+perConnection) +
		judgingBound + max(judgingBound, signingMemory(w.MaxMessage))
}
