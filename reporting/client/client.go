// Package client asks a daemon through its control API: over the control socket, or over
// TLS from another machine.
//
//	Dial, DialRemote -> Client; Get, Post with an endpoint of package v1 -> answer or error
//	an error: *api.Problem from the daemon, else *AccessError, ErrUnavailable, ErrProtocol,
//	ErrUntrusted
//
// The package does not sign messages and does not repeat requests. A Client is safe for
// concurrent use and has no locks of its own.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
)

const (
	dialTimeout   = 5 * time.Second
	queuePause    = 2 * time.Millisecond // between two attempts to connect
	answerTimeout = 30 * time.Second
	maxAnswer     = 16 << 20 // bytes; an explanation names every site and generation
)

// Errors that callers distinguish, besides *api.Problem.
var (
	ErrUnavailable = errors.New("no daemon answers")                 // on the control socket
	ErrProtocol    = errors.New("the answer is not of a spambloomd") // or of one with another API
	ErrUntrusted   = errors.New("the daemon's certificate is not trusted")
)

// AccessError is the error of a user who may not open the control socket at Path. Whether a
// daemon answers there is unknown.
type AccessError struct {
	Path string
	Err  error
}

func (e *AccessError) Error() string {
	return fmt.Sprintf("this user may not use the control socket unix:%s: %v", e.Path, e.Err)
}

func (e *AccessError) Unwrap() error { return e.Err }

// Client sends requests to one daemon. It is safe for concurrent use.
type Client struct {
	http  *http.Client
	base  string // of addresses, without a slash at its end
	token string // sent with each request; empty: none
}

// unixBase is the address of a daemon on a unix socket. The host has no meaning there, but
// HTTP/1.1 requires one.
const unixBase = "http://spambloom"

// Dial connects to the daemon's control socket, unix:PATH. If nobody answers there, the
// error is ErrUnavailable, wrapped with the socket and the cause; if the user may not open the
// socket, it is an *AccessError.
func Dial(spec string) (*Client, error) {
	path, ok := strings.CutPrefix(spec, "unix:")
	if !ok || path == "" {
		return nil, fmt.Errorf("control socket %q: want unix:PATH", spec)
	}
	dial := func(ctx context.Context) (net.Conn, error) { return connect(ctx, "unix", path, spec) }
	conn, err := dial(context.Background())
	if err != nil {
		return nil, err
	}
	conn.Close()
	return Over(dial), nil
}

// Over returns a client of a daemon on this machine that dial connects to.
func Over(dial func(context.Context) (net.Conn, error)) *Client {
	transport := &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		MaxIdleConnsPerHost: 16, IdleConnTimeout: api.IdleTimeout / 2,
	}
	return &Client{http: &http.Client{Transport: transport, Timeout: answerTimeout}, base: unixBase}
}

// connect connects to a daemon. Errors contain spec. The kernel does not wait if the queue of a unix
// socket is full, which all users share: one who connects again and again would keep the others away.
func connect(ctx context.Context, network, address, spec string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	for errors.Is(err, syscall.EAGAIN) && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(queuePause):
			conn, err = d.DialContext(ctx, network, address)
		}
	}
	if network == "unix" && errors.Is(err, fs.ErrPermission) {
		return nil, &AccessError{Path: address, Err: cause(err)}
	}
	if err != nil {
		return nil, fmt.Errorf("%w on %s: %w", ErrUnavailable, spec, cause(err))
	}
	return conn, nil
}

// cause returns the kernel's error, without the address around it.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get asks an endpoint that takes no request. The error is a *api.Problem if the daemon
// refuses, and ErrUnavailable if none answers.
func Get[A any](ctx context.Context, c *Client, endpoint v1.Get[A]) (answer A, err error) {
	err = c.call(ctx, c.http, http.MethodGet, string(endpoint), nil, &answer)
	return answer, err
}

// Post sends a request to an endpoint. Errors are those of Get.
func Post[Q, A any](ctx context.Context, c *Client, endpoint v1.Post[Q, A], request Q) (answer A, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return answer, fmt.Errorf("write the request: %w", err)
	}
	err = c.call(ctx, c.http, http.MethodPost, string(endpoint), body, &answer)
	return answer, err
}

// KeepLearned waits until all that was learned is on disk. That writes all filters that have changed:
// only ctx bounds the time.
func (c *Client) KeepLearned(ctx context.Context) error {
	return c.call(ctx, c.patient(), http.MethodPost, string(v1.Learn), []byte(`{"keep":true}`), new(api.Learned))
}

// Fsck asks the daemon to read all files of its state folder. Only ctx bounds the time.
func (c *Client) Fsck(ctx context.Context) (checked api.Checked, err error) {
	err = c.call(ctx, c.patient(), http.MethodGet, string(v1.Fsck), nil, &checked)
	return checked, err
}

// Backup writes a backup of the daemon's state to w. Only ctx bounds the time; the daemon
// breaks off a backup that stalls. Errors of w are returned as they are. After an error, w
// has a part of a backup, which backup.Read does not accept.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	response, err := c.send(ctx, c.patient(), http.MethodGet, v1.Backup, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return decode(response, nil)
	}
	out := &storing{w: w}
	if _, err := io.Copy(out, response.Body); out.err != nil {
		return out.err
	} else if err != nil {
		return fmt.Errorf("the daemon broke the backup off: %w", err)
	}
	return nil
}

// storing separates errors of a writer from those of the stream.
type storing struct {
	w   io.Writer
	err error
}

func (s *storing) Write(b []byte) (n int, err error) {
	n, s.err = s.w.Write(b)
	return n, s.err
}

// patient returns an HTTP client without a bound on the time of an answer.
func (c *Client) patient() *http.Client {
	patient := *c.http
	patient.Timeout = 0
	return &patient
}

// call sends a request and reads the answer's JSON.
func (c *Client) call(ctx context.Context, over *http.Client, method, path string, body []byte, answer any) error {
	response, err := c.send(ctx, over, method, path, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return decode(response, answer)
}

func (c *Client) send(ctx context.Context, over *http.Client, method, path string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := over.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the daemon: %w", broken(err))
	}
	return response, nil
}

// decode reads an answer: JSON under status 200, else a *api.Problem.
func decode(response *http.Response, answer any) error {
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("read the daemon's answer: %w", err)
	}
	if len(data) > maxAnswer {
		return fmt.Errorf("%w: it is over %d bytes", ErrProtocol, maxAnswer)
	}
	if status := response.StatusCode; status != http.StatusOK {
		var p api.Problem
		if err := json.Unmarshal(data, &p); err != nil || p.Detail == "" {
			p.Detail = fmt.Sprintf("the daemon answers %d %s", status, http.StatusText(status))
		}
		p.Status = status // the text may have another one
		return &p
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return nil
}

// broken returns the cause of a failed connection, without method and address, which mean
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
