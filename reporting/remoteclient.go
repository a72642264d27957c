package reporting

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// RemotePort is where a daemon listens for other machines unless it is told otherwise.
const RemotePort = "8897"

// Credentials are how a client and a daemon on another machine know each other.
type Credentials struct {
	CA        string // file of who signed the daemon's certificate, PEM; "": the system's
	Cert, Key string // files of the client's own certificate, PEM; "": none
	Token     string // "": none
}

// DialRemote connects to the daemon of another machine, https://HOST or
// https://HOST:PORT, and proves who asks. ErrUnavailable, wrapped with the address and
// the cause, when nobody answers there; ErrUntrusted when its certificate is not that of
// the host; a *Problem of status 401 when it does not let this client in. It reads the
// files once, and uses no proxy.
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
				TLSHandshakeTimeout: dialTimeout, MaxIdleConnsPerHost: 16, IdleConnTimeout: idleTimeout / 2,
			},
			Timeout: answerTimeout,
			// Whom a redirection names has no business with the token.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base:  "https://" + address,
		token: o.Token,
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*dialTimeout)
	defer cancel()
	if _, err := c.Whoami(ctx); err != nil {
		c.Close()
		return nil, unanswered(spec, err)
	}
	return c, nil
}

// unanswered makes ErrUnavailable of an error that came in the place of an answer.
func unanswered(spec string, err error) error {
	var p *Problem
	if errors.As(err, &p) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUntrusted) || errors.Is(err, ErrProtocol) {
		return err
	}
	return fmt.Errorf("%w on %s: %w", ErrUnavailable, spec, err)
}

// RemoteAddress is the HOST:PORT of an address as DialRemote takes it.
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

// Check reads the files, and says which is wrong.
func (o Credentials) Check() error {
	_, err := o.config()
	return err
}

// config checks the token and reads the files.
func (o Credentials) config() (*tls.Config, error) {
	err := checkToken(o.Token)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		if c.RootCAs, err = readPool(o.CA); err != nil {
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
		// Shown to every daemon that asks: the default shows none whose CA it does not
		// name, and then the daemon cannot say what is wrong with it.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return c, nil
}

// Whoami asks who the caller is to the daemon, and what they may do.
func (c *Client) Whoami(ctx context.Context) (Whoami, error) {
	return ask[Whoami](ctx, c, "/v1/whoami", nil)
}
