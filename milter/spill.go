package milter

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
)

// spilledLimit is the multiple of Options.MaxMemory allowed in temporary files. Their
// folder is the state folder, and bodies must not fill its disk.
const spilledLimit = 4

// spillReserve is the space that bodies leave free on that disk for the journal: without
// space no report is accepted. Unit: bytes.
const spillReserve = 256 << 20

// spill is the end of a body that did not fit into memory, in an unnamed temporary file. A
// crash leaves nothing behind.
type spill struct {
	file *os.File
	size int64 // bytes of complete writes
}

// spill appends to the body in the temporary file. It returns false if that is disabled or
// fails (no disk space, no descriptor); the message is then cut there.
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

// write creates the file if needed. It checks the free space each time, because others
// write to the disk too.
func (m *message) write(chunk []byte) error {
	if err := checkSpillRoom(m.options.SpillFolder); err != nil {
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

// appendTo returns the whole body: begin, which is in memory, followed by the file.
func (r *spill) appendTo(begin [][]byte) ([]byte, error) {
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

// close closes the file, which deletes its content. An abandoned judgement may still read
// it, and then fails.
func (r *spill) close(spilled *atomic.Int64) {
	if r == nil {
		return
	}
	spilled.Add(-r.size)
	r.file.Close() // the content is deleted whatever Close returns
}

// openTemporary creates a file in folder and removes its name while it is empty.
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

// spillFailed counts and logs the error; the message is judged on the part in memory.
func (s *Server) spillFailed(log *slog.Logger, err error) {
	s.metrics.failure("spill")
	if s.spillFault.allow() {
		log.Error("message judged on its beginning only", slog.Any("error", err))
	}
}
