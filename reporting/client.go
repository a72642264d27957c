package reporting

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	dialTimeout   = 5 * time.Second
	answerTimeout = 30 * time.Second
	maxAnswer     = 16 << 20 // bytes; an explanation names every site and generation
)

// Errors a caller branches on, beside *Problem.
var (
	ErrUnavailable = errors.New("no daemon answers")                 // on the control socket
	ErrProtocol    = errors.New("the answer is not of a spambloomd") // or of one with another API
	ErrUntrusted   = errors.New("the daemon's certificate is not trusted")
)

// Client asks a daemon through its control socket, or from another machine. It is
// safe for concurrent use.
type Client struct {
	http  *http.Client
	base  string // of addresses, without a slash at its end
	token string // shown with each request; empty: none
}

// unixBase is the address of a daemon on a unix socket: the host is of no meaning
// there, but HTTP/1.1 wants one.
const unixBase = "http://spambloom"

// Dial connects to the daemon's control socket, unix:PATH. ErrUnavailable,
// wrapped with the socket and the cause, when nobody answers there.
func Dial(spec string) (*Client, error) {
	path, ok := strings.CutPrefix(spec, "unix:")
	if !ok || path == "" {
		return nil, fmt.Errorf("control socket %q: want unix:PATH", spec)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return connect(ctx, "unix", path, spec) }
	conn, err := dial(context.Background(), "", "")
	if err != nil {
		return nil, err
	}
	conn.Close()
	transport := &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 16, IdleConnTimeout: idleTimeout / 2}
	return &Client{http: &http.Client{Transport: transport, Timeout: answerTimeout}, base: unixBase}, nil
}

// connect connects to a daemon, which spec names in errors.
func connect(ctx context.Context, network, address, spec string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("%w on %s: %w", ErrUnavailable, spec, cause(err))
	}
	return conn, nil
}

// cause is what the kernel said, without the address around it.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Check asks for the verdict on a message. Like all questions it returns a
// *Problem where the daemon refuses, and ErrUnavailable where none answers.
func (c *Client) Check(ctx context.Context, r Request) (Answer, error) {
	return ask[Answer](ctx, c, "/v1/check", r)
}

// Explain asks for the verdict and everything behind it.
func (c *Client) Explain(ctx context.Context, r Request) (Explanation, error) {
	return ask[Explanation](ctx, c, "/v1/explain", r)
}

// Report reports a message as spam; when it returns nil, that is on disk.
func (c *Client) Report(ctx context.Context, r Request) (Receipt, error) {
	return ask[Receipt](ctx, c, "/v1/report", r)
}

// Revoke takes a message's listing back; durable like Report.
func (c *Client) Revoke(ctx context.Context, r Request) (Receipt, error) {
	return ask[Receipt](ctx, c, "/v1/revoke", r)
}

// Retouch takes a message out of the listings on this site; durable like Report.
func (c *Client) Retouch(ctx context.Context, r Request) (Retouching, error) {
	return ask[Retouching](ctx, c, "/v1/retouch", r)
}

// PlanRetouch asks what Retouch would do.
func (c *Client) PlanRetouch(ctx context.Context, r Request) (Retouching, error) {
	return ask[Retouching](ctx, c, "/v1/retouch/plan", r)
}

// Retouched asks which signatures are retouched.
func (c *Client) Retouched(ctx context.Context) (RetouchedList, error) {
	return ask[RetouchedList](ctx, c, "/v1/retouched", nil)
}

// Never declares that a message is never spam; durable like Report.
func (c *Client) Never(ctx context.Context, r NeverRequest) (NeverList, error) {
	return ask[NeverList](ctx, c, "/v1/never", r)
}

// Unnever takes declarations back; durable like Report. The list is what was
// removed.
func (c *Client) Unnever(ctx context.Context, r NeverRequest) (NeverList, error) {
	return ask[NeverList](ctx, c, "/v1/never/remove", r)
}

// NeverList asks which messages are declared.
func (c *Client) NeverList(ctx context.Context) (NeverList, error) {
	return ask[NeverList](ctx, c, "/v1/never/list", nil)
}

// Sites asks how this site and the others stand.
func (c *Client) Sites(ctx context.Context) (SiteList, error) {
	return ask[SiteList](ctx, c, "/v1/sites", nil)
}

// Mute takes a site's say away, or gives it back; durable like Report.
func (c *Client) Mute(ctx context.Context, r SiteRequest) (SiteReceipt, error) {
	return ask[SiteReceipt](ctx, c, "/v1/mute", r)
}

// Drop deletes what is held of a site, and mutes it; durable like Report.
func (c *Client) Drop(ctx context.Context, r SiteRequest) (SiteReceipt, error) {
	return ask[SiteReceipt](ctx, c, "/v1/drop", r)
}

// Status asks what the daemon knows about itself.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return ask[Status](ctx, c, "/v1/status", nil)
}

// ask sends a question, or asks for a state where it is nil, and returns the daemon's answer.
func ask[A any](ctx context.Context, c *Client, path string, question any) (answer A, err error) {
	err = c.ask(ctx, path, question, &answer)
	return answer, err
}

func (c *Client) ask(ctx context.Context, path string, question, answer any) error {
	method, body := http.MethodGet, []byte(nil)
	if question != nil {
		var err error
		if body, err = json.Marshal(question); err != nil {
			return fmt.Errorf("write the request: %w", err)
		}
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("ask the daemon: %w", broken(err))
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("read the daemon's answer: %w", err)
	}
	return decodeAnswer(response.StatusCode, data, answer)
}

// askLong is ask without a bound on the time, and with any body for a question.
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

// decodeAnswer reads a reply: answer's JSON under status 200, else a *Problem.
func decodeAnswer(status int, data []byte, answer any) error {
	if len(data) > maxAnswer {
		return fmt.Errorf("%w: it is over %d bytes", ErrProtocol, maxAnswer)
	}
	if status != http.StatusOK {
		var p Problem
		if err := json.Unmarshal(data, &p); err != nil || p.Detail == "" {
			p.Detail = fmt.Sprintf("the daemon answers %d %s", status, http.StatusText(status))
		}
		p.Status = status // what the server did counts, not what the text says
		return &p
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return nil
}

// broken says how a connection failed, without method and address, which say
// nothing on a unix socket.
func broken(err error) error {
	var u *url.Error
	var certificate *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &certificate):
		return fmt.Errorf("%w: %w", ErrUntrusted, certificate.Err)
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%w: it does not speak TLS", ErrProtocol)
	case !errors.As(err, &u):
		return err
	case u.Timeout():
		return fmt.Errorf("it has not answered within %v", answerTimeout)
	}
	return u.Err
}
