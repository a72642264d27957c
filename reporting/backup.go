package reporting

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spambloom/spambloom/reporting/backup"
)

const (
	// stallTimeout cuts a stream of which nothing moves. The whole takes its time.
	stallTimeout = 30 * time.Second

	backupBuffer = 64 << 10 // bytes
)

// stream is an endpoint whose answer is no JSON object, or takes its time.
type stream struct {
	endpoint
	serve http.HandlerFunc
}

func (h *handler) streams() []stream {
	return []stream{
		{endpoint{method: http.MethodGet, path: "/v1/backup", needs: toAdministrate}, h.backup},
		{endpoint{method: http.MethodGet, path: "/v1/fsck", needs: toAdministrate}, h.fsck},
	}
}

// backup answers /v1/backup with a tar. One at a time: each keeps files open, and pages of
// the ledger in use.
func (h *handler) backup(w http.ResponseWriter, r *http.Request) {
	if !h.backing.TryLock() {
		newProblem(http.StatusServiceUnavailable, "another backup is at work").write(w)
		return
	}
	defer h.backing.Unlock()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the request is read; not all writers have one
	w.Header().Set("Content-Type", "application/x-tar")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	paced := &pacedWriter{w: w, control: control}
	out := bufio.NewWriterSize(paced, backupBuffer)
	err := backup.Write(out, h.desk.db, h.desk.ledger, backup.Options{Program: h.Version, Folder: h.Folder, Keys: h.Keys})
	if err == nil {
		err = out.Flush()
	}
	switch {
	case err == nil:
		h.Log.Info("backup written", "bytes", paced.written)
	case paced.written == 0:
		h.fail(w, r, problemOf(err), err)
	default:
		// The answer has begun as a good one: to break it off is all that is left to say.
		h.Log.Error("backup broken off", "error", err)
		panic(http.ErrAbortHandler)
	}
}

// pacedWriter gives each write its own time.
type pacedWriter struct {
	w       io.Writer
	control *http.ResponseController
	written int64
}

func (p *pacedWriter) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(stallTimeout)) // not all writers have one
	n, err := p.w.Write(b)
	p.written += int64(n)
	return n, err
}

// Backup writes a backup of the daemon's state. It takes as long as it takes, while
// something moves. Errors of w come as they are; after one, what was written is not whole,
// which backup.Read finds, too.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	response, err := c.stream(ctx, http.MethodGet, "/v1/backup", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	out := &storing{w: w}
	if _, err := io.Copy(out, response.Body); out.err != nil {
		return out.err
	} else if err != nil {
		return fmt.Errorf("the daemon broke the backup off: %w", err)
	}
	return nil
}

// storing tells faults of a writer from those of the stream.
type storing struct {
	w   io.Writer
	err error
}

func (s *storing) Write(b []byte) (n int, err error) {
	n, s.err = s.w.Write(b)
	return n, s.err
}
