package milter

import (
	"github.com/spambloom/spambloom/milter/room"
	"github.com/spambloom/spambloom/milter/turns"
)

// The memory of a server has these parts, each with its bound:
//
//   - The messages in flight: MaxMemory together, and share beyond it for each
//     connection. This is Server.held.
//   - The packets being read: an ordinary one for each connection. The rest of a longer one
//     is charged to MaxMemory. This is Server.packets.
//   - Judging: turns.MostMemory of the longest message.
//   - The fixed cost of a connection: perConnection.
//   - Decoded images and unpacked archives: 64 MiB for each slot of package turns, which MostMemory leaves out.

// perConnection is the memory for the stacks, buffers and envelope of a connection. Unit:
// bytes.
const perConnection = 32 << 10

// memory and disk return the limits of what all messages in flight hold, and of their temporary files.
func (o *Options) memory() room.Limits { return room.Limits{All: o.MaxMemory, Each: o.MaxMessage} }
func (o *Options) disk() room.Limits {
	return room.Limits{All: SpilledLimit * o.MaxMemory, Each: o.MaxMessage}
}

// MostMemory returns the memory bound of the options in force.
func (s *Server) MostMemory() int64 { return s.options.Load().MostMemory() }

// MostMemory returns the most memory that a server with these options uses for mail,
// whatever its clients do. Decoded images are not included. Unit: bytes.
func (o Options) MostMemory() int64 {
	w := o.withDefaults()
	return w.MaxMemory + int64(w.MaxConnections)*(share+ordinary+perConnection) +
		turns.MostMemory(w.MaxMessage)
}
