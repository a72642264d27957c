package reporting

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
)

// Export writes the state of the daemon's site, checked on its way. It takes as long as
// it takes, while something moves. Errors of w come as they are; one that wraps ErrExport
// says that the stream broke off.
func (c *Client) Export(ctx context.Context, w io.Writer) (ExportHead, error) {
	response, err := c.stream(ctx, http.MethodGet, "/v1/export", nil)
	if err != nil {
		return ExportHead{}, err
	}
	defer response.Body.Close()
	x, err := newExportReader(bufio.NewReaderSize(io.TeeReader(response.Body, w), maxFrame))
	if err != nil {
		return ExportHead{}, err
	}
	return x.Head, x.rest()
}

// Import gives the daemon an export. With reportsOnly its filters are left out, see
// Desk.Import. When it returns nil, what it says is on disk.
func (c *Client) Import(ctx context.Context, r io.Reader, reportsOnly bool) (t Transferred, err error) {
	path := "/v1/import"
	if reportsOnly {
		path += "?reports_only=true"
	}
	err = c.askLong(ctx, http.MethodPost, path, r, &t)
	return t, err
}

// askLong is ask without a bound on the time, and with a stream for a question.
func (c *Client) askLong(ctx context.Context, method, path string, body io.Reader, answer any) error {
	response, err := c.stream(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("read the daemon's answer: %w", err)
	}
	return decodeAnswer(response.StatusCode, data, answer)
}

// stream asks without a bound on the time that body and answer take. An answer other
// than 200 is a *Problem.
func (c *Client) stream(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/octet-stream")
	}
	patient := *c.http
	patient.Timeout = 0
	response, err := patient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the daemon: %w", broken(err))
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the daemon's answer: %w", err)
	}
	return nil, decodeAnswer(response.StatusCode, data, nil)
}
