package milter

import "log/slog"

// SpilledLimit is the multiple of Options.MaxMemory allowed in temporary files. Their
// folder is the state folder, and bodies must not fill its disk.
const SpilledLimit = 4

// spill appends to the body in the temporary file. It returns false if that is disabled or
// fails (no disk space, no descriptor, a disk that hangs); the message is then cut there.
func (m *message) spill(chunk []byte) bool {
	if m.options.SpillFolder == "" {
		return false
	}
	spilled, part, n := &m.server.spilled, &m.holder.Disk, int64(len(chunk))
	if !spilled.Take(part, n, m.options.disk()) {
		return false
	}
	if m.rest == nil { // its writes together take at most half of the time for judging
		m.rest = m.server.disk.File(m.options.SpillFolder, m.options.JudgeTimeout/2)
	}
	isFirst := m.rest.Size() == 0
	if err := m.rest.Append(chunk); err != nil {
		spilled.Return(part, n)
		m.server.spillFailed(m.options.Log, err)
		return false
	}
	if isFirst {
		m.server.metrics.Spilled.Inc()
	}
	return true
}

// dropSpilled deletes the file.
func (m *message) dropSpilled() {
	room, part, size := &m.server.spilled, &m.holder.Disk, m.rest.Size()
	m.rest.Close(func() { room.Return(part, size) })
}

// spillFailed counts and logs the error; the message is judged on the part in memory.
func (s *Server) spillFailed(log *slog.Logger, err error) {
	s.metrics.Failure("spill")
	if s.spillFault.Allow() {
		log.Error("message judged on its beginning only", slog.Any("error", err))
	}
}
