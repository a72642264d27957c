package server

import (
	"bufio"
	"io"
	"net/http"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/backup"
)

const (
	// stallTimeout bounds each write of an answer that takes its time.
	stallTimeout = 30 * time.Second

	backupBuffer = 64 << 10 // bytes
)

// backup answers v1.Backup with a tar. Only one backup is written at a time, because each
// keeps files open and pages of the ledger in use.
func (h *handler) backup(w http.ResponseWriter, r *http.Request, _ caller) {
	if !h.backing.TryLock() {
		writeProblem(w, api.NewProblem(http.StatusServiceUnavailable, "another backup is at work"))
		return
	}
	defer h.backing.Unlock()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the request is read; not every writer has a deadline
	w.Header().Set("Content-Type", "application/x-tar")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	paced := &pacedWriter{w: w, control: control}
	out := bufio.NewWriterSize(paced, backupBuffer)
	err := h.desk.Backup(out, backup.Options{Program: h.Version, Folder: h.Folder, Keys: h.Keys})
	if err == nil {
		err = out.Flush()
	}
	switch {
	case err == nil:
		h.Log.Info("backup written", "bytes", paced.written)
	case paced.written == 0:
		h.fail(w, r, problemOf(err), err)
	default:
		// The answer has begun with status 200: it can only be broken off.
		h.Log.Error("backup broken off", "error", err)
		panic(http.ErrAbortHandler)
	}
}

// pacedWriter gives each write its own deadline.
type pacedWriter struct {
	w       io.Writer
	control *http.ResponseController
	written int64
}

func (p *pacedWriter) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(stallTimeout)) // not every writer has a deadline
	n, err := p.w.Write(b)
	p.written += int64(n)
	return n, err
}

// fsck answers v1.Fsck. It takes as long as the disk.
func (h *handler) fsck(w http.ResponseWriter, _ *http.Request, _ caller) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the request is read; not every writer has a deadline
	checked := h.desk.Fsck()
	for _, fault := range checked.Faults {
		h.Log.Error("the state folder is damaged", "fault", fault)
	}
	_ = control.SetWriteDeadline(time.Now().Add(stallTimeout)) // the old one may have passed
	writeJSON(w, http.StatusOK, "application/json", checked)
}
