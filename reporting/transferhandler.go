package reporting

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	// maxImport bounds the export that is taken, in bytes: ten million reports and
	// the filters of a large site have their place in it.
	maxImport = 32 << 30

	// stallTimeout cuts a stream of which nothing moves. The whole takes its time.
	stallTimeout = 30 * time.Second
)

// stream is an endpoint whose request or answer is no JSON object.
type stream struct {
	endpoint
	serve http.HandlerFunc
}

func (h *handler) streams() []stream {
	return []stream{
		{endpoint{method: http.MethodGet, path: "/v1/export", needs: toAdministrate}, h.export},
		{endpoint{method: http.MethodPost, path: "/v1/import", needs: toAdministrate}, h.importState},
		{endpoint{method: http.MethodGet, path: "/v1/fsck", needs: toAdministrate}, h.fsck},
	}
}

// export answers /v1/export with a stream.
func (h *handler) export(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the request is read; not all writers have one
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	paced := &pacedWriter{w: w, control: control}
	out := bufio.NewWriterSize(paced, maxFrame)
	err := h.desk.Export(out, h.Version)
	if err == nil {
		err = out.Flush()
	}
	switch {
	case err == nil:
	case !paced.begun:
		h.fail(w, r, problemOf(err), err)
	default:
		// The answer has begun as a good one: to break it off is all that is left to say.
		h.Log.Error("export broken off", "error", err)
		panic(http.ErrAbortHandler)
	}
}

// pacedWriter gives each write its own time.
type pacedWriter struct {
	w       io.Writer
	control *http.ResponseController
	begun   bool
}

func (p *pacedWriter) Write(b []byte) (int, error) {
	p.begun = true
	_ = p.control.SetWriteDeadline(time.Now().Add(stallTimeout)) // not all writers have one
	return p.w.Write(b)
}

// pacedReader gives each read its own time.
type pacedReader struct {
	r       io.Reader
	control *http.ResponseController
}

func (p *pacedReader) Read(b []byte) (int, error) {
	_ = p.control.SetReadDeadline(time.Now().Add(stallTimeout)) // not all writers have one
	return p.r.Read(b)
}

// importState answers /v1/import. The stream is kept in a file that has no name, so
// that nothing of it is left, whatever happens.
func (h *handler) importState(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	t, err := h.takeImport(w, r, control)
	_ = control.SetWriteDeadline(time.Now().Add(stallTimeout)) // it took its time
	if err != nil {
		h.fail(w, r, importProblem(err, t.From), err)
		return
	}
	writeJSON(w, http.StatusOK, "application/json", t)
}

func (h *handler) takeImport(w http.ResponseWriter, r *http.Request, control *http.ResponseController) (t Transferred, err error) {
	reportsOnly, err := reportsOnly(r.URL.Query())
	if err != nil {
		return t, err
	}
	if !h.importing.TryLock() {
		return t, newProblem(http.StatusServiceUnavailable, "another import is at work")
	}
	defer h.importing.Unlock()
	spool, err := os.CreateTemp(h.Folder, "import-*.tmp")
	if err != nil {
		return t, fmt.Errorf("keep the import: %w", err)
	}
	defer spool.Close()
	if err := os.Remove(spool.Name()); err != nil {
		return t, fmt.Errorf("keep the import: %w", err)
	}
	if err := receive(spool, &pacedReader{http.MaxBytesReader(w, r.Body, maxImport), control}); err != nil {
		return t, err
	}
	size, err := spool.Seek(0, io.SeekCurrent)
	if err != nil {
		return t, fmt.Errorf("keep the import: %w", err)
	}
	return h.desk.Import(func() io.Reader { return bufio.NewReaderSize(io.NewSectionReader(spool, 0, size), maxFrame) }, reportsOnly)
}

// receive keeps a stream, and ends with the first fault in it.
func receive(spool io.Writer, body io.Reader) error {
	out := &storing{w: spool}
	x, err := newExportReader(bufio.NewReaderSize(io.TeeReader(body, out), maxFrame))
	if err == nil {
		err = x.rest()
	}
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil, errors.Is(err, ErrExport):
		return err
	case out.err != nil:
		return fmt.Errorf("keep the import: %w", out.err)
	case errors.As(err, &tooLarge):
		return newProblem(http.StatusRequestEntityTooLarge, "the export is over %d bytes", tooLarge.Limit)
	}
	return newProblem(http.StatusBadRequest, "the export was not received: %v", err)
}

// storing tells faults of the disk from those of the stream.
type storing struct {
	w   io.Writer
	err error
}

func (s *storing) Write(b []byte) (n int, err error) {
	n, s.err = s.w.Write(b)
	return n, s.err
}

// reportsOnly reads the one parameter of /v1/import.
func reportsOnly(q url.Values) (bool, error) {
	for name, values := range q {
		if name != "reports_only" || len(values) != 1 || values[0] != "true" {
			return false, newProblem(http.StatusBadRequest, "parameter %.60q; only reports_only=true is known", name+"="+strings.Join(values, ","))
		}
	}
	return len(q) > 0, nil
}
