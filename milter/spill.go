package milter

import (
	"log/slog"

	"github.com/spambloom/spambloom/milter/spill"
)

// SpilledLimit is the multiple of Options.MaxMemory allowed in temporary files. Their
// folder is the state folder, and bodies must not fill its disk.
const SpilledLimit = 4

// spill appends to the body in the temporary file. It returns false if that is disabled or
// fails (no disk space, no descriptor); the message is then cut there.
func (m *message) spill(chunk []byte) bool {
	if m.options.SpillFolder == "" {
		return false
	}
	spilled, part, n := &m.server.spilled, &m.holder.Disk, int64(len(chunk))
	if !spilled.Take(part, n, m.options.disk()) {
		return false
	}
	if err := m.write(chunk); err != nil {
		spilled.Return(part, n)
		m.server.spillFailed(m.options.Log, err)
		return false
	}
	return true
}

// write creates the file if needed.
func (m *message) write(chunk []byte) (err error) {
	if m.rest == nil {
		if m.rest, err = spill.Create(m.options.SpillFolder); err != nil {
			return err
		}
		m.server.metrics.Spilled.Inc()
	} else if err := spill.CheckRoom(m.options.SpillFolder); err != nil {
		return err
	}
	return m.rest.Append(chunk)
}

// dropSpilled deletes the file.
func (m *message) dropSpilled() {
	m.server.spilled.Return(&m.holder.Disk, m.rest.Size())
	m.rest.Close()
}

// spillFailed counts and logs the error; the message is judged on the part in memory.
func (s *Server) spillFailed(log *slog.Logger, err error) {
	s.metrics.Failure("spill")
	if s.spillFault.Allow() {
		log.Error("message judged on its beginning only", slog.Any("error", err))
	}
}
