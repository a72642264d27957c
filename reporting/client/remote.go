package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/credential"
)

// RemotePort is the port of a daemon's listener for other machines, if its address has
// none.
const RemotePort = "8897"

// Credentials prove a client and a daemon on another machine to each other.
type Credentials struct {
	CA        string // file of the authority that signed the daemon's certificate, PEM; empty: the system's
	Cert, Key string // files of the client's own certificate, PEM; empty: none
	Token     string // empty: none
}

// DialRemote connects to the daemon of another machine, https://HOST or
// https://HOST:PORT, with the client's credentials. It reads the files once, and uses no
// proxy. The error is ErrUnavailable, wrapped with the address and the cause, if nobody
// answers there; ErrUntrusted if the certificate is not that of the host; a *api.Problem of
// status 401 if the daemon refuses the client.
func DialRemote(spec string, o Credentials) (*Client, error) {
	address, err := RemoteAddress(spec)
	if err != nil {
		return nil, err
	}
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return connect(ctx, network, address, spec)
	}
	c := &Client{
		http: &http.Client{
			Transport: &http.Transport{
				DialContext: dial, TLSClientConfig: config,
				TLSHandshakeTimeout: dialTimeout, MaxIdleConnsPerHost: 16, IdleConnTimeout: api.IdleTimeout / 2,
			},
			Timeout: answerTimeout,
			// The target of a redirection must not get the token.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base:  "https://" + address,
		token: o.Token,
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*dialTimeout)
	defer cancel()
	if _, err := Get(ctx, c, v1.Whoami); err != nil {
		c.Close()
		return nil, unanswered(spec, err)
	}
	return c, nil
}

// unanswered wraps an error that came in place of an answer in ErrUnavailable.
func unanswered(spec string, err error) error {
	var p *api.Problem
	if errors.As(err, &p) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUntrusted) || errors.Is(err, ErrProtocol) {
		return err
	}
	return fmt.Errorf("%w on %s: %w", ErrUnavailable, spec, err)
}

// RemoteAddress returns the HOST:PORT of an address for DialRemote.
func RemoteAddress(spec string) (string, error) {
	u, err := url.Parse(spec)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		(u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("control address %q: want https://HOST:PORT", spec)
	}
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), RemotePort), nil
	}
	return u.Host, nil
}

// HasToken reports whether a text contains a token, such as one in the place of its file's path. It must
// not be shown.
func HasToken(text string) bool { return credential.HasToken(text) }

// Check reads the files. The error names the one that is wrong.
func (o Credentials) Check() error {
	_, err := o.config()
	return err
}

// config checks the token and reads the files.
func (o Credentials) config() (*tls.Config, error) {
	err := credential.CheckToken(o.Token)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		if c.RootCAs, err = credential.ReadAuthorities(o.CA); err != nil {
			return nil, fmt.Errorf("CA of the daemon: %w", err)
		}
	}
	if (o.Cert == "") != (o.Key == "") {
		return nil, errors.New("a client's certificate and its key go together")
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("the client's certificate: %w", err)
		}
		// The default sends no certificate if the daemon does not name its authority, and
		// then the daemon cannot return what is wrong with it.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return c, nil
}
