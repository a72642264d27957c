package milter

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
)

// spilledLimit is how many times Options.MaxMemory may be in temporary files: the
// folder is that of the state, whose disk is not to be filled with bodies.
const spilledLimit = 4

// spillReserve is what bodies leave free on that disk, for the journal: without room
// no report is accepted. Unit: bytes.
const spillReserve = 256 << 20

// spill is the end of a body for which there was no memory, in a temporary file
// without a name: a crash leaves nothing of it.
type spill struct {
	file *os.File
	size int64 // bytes written whole
}

// spill appends to the body in the temporary file. It says false if that is not
// wanted or does not work (no disk, no descriptor): the message is then cut there.
func (m *message) spill(chunk []byte) bool {
	if m.options.SpillFolder == "" {
		return false
	}
	spilled, n := &m.server.spilled, int64(len(chunk))
	if spilled.Add(n) > spilledLimit*m.options.MaxMemory {
		spilled.Add(-n)
		return false
	}
	err := m.write(chunk)
	if err != nil {
		spilled.Add(-n)
		m.server.spillFailed(m.options.Log, err)
		return false
	}
	m.rest.size += n
	return true
}

// write makes the file where there is none yet. Room is asked for each time, as others
// write to the disk, too.
func (m *message) write(chunk []byte) error {
	if err := roomToSpill(m.options.SpillFolder); err != nil {
		return fmt.Errorf("temporary file for a body: %w", err)
	}
	if m.rest == nil {
		file, err := openNameless(m.options.SpillFolder)
		if err != nil {
			return fmt.Errorf("temporary file for a body: %w", err)
		}
		m.rest = &spill{file: file}
		m.server.metrics.spilled.Inc()
	}
	_, err := m.rest.file.Write(chunk)
	return err
}

// behind is the whole body, of which the begin is in memory.
func (r *spill) behind(begin [][]byte) ([]byte, error) {
	size := r.size
	for _, chunk := range begin {
		size += int64(len(chunk))
	}
	body := make([]byte, 0, size)
	for _, chunk := range begin {
		body = append(body, chunk...)
	}
	at := len(body)
	body = body[:size]
	if _, err := io.ReadFull(io.NewSectionReader(r.file, 0, r.size), body[at:]); err != nil {
		return nil, fmt.Errorf("temporary file of a body: %w", err)
	}
	return body, nil
}

// close ends the file, and with it its content. A judgement that nobody waits for
// any more may still read it, and fails.
func (r *spill) close(spilled *atomic.Int64) {
	if r == nil {
		return
	}
	spilled.Add(-r.size)
	r.file.Close() // it is gone with its content, whatever Close says
}

// openTemporary makes a file in folder and takes its name away while it is empty.
func openTemporary(folder string) (*os.File, error) {
	file, err := os.CreateTemp(folder, ".spill-*") // mode 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// spillFailed counts and logs; the message is judged on what is in memory.
func (s *Server) spillFailed(log *slog.Logger, err error) {
	s.metrics.failure("spill")
	if s.spillFault.allow() {
		log.Error("a message is judged on its begin only", slog.Any("error", err))
	}
}
