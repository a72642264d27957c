package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/credential"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/server/loglimit"
	"github.com/spambloom/spambloom/reporting/server/refusal"
	"github.com/spambloom/spambloom/reporting/server/secured"
)

// Bounds of the listener for other machines. A connection is closed if the handshake and
// the header of a request take longer than headerTimeout.
const (
	maxRemote         = 128 // connections
	maxOfAddress      = 32  // of one address
	remoteReadTimeout = 30 * time.Second
	expirySoon        = 14 * 24 * time.Hour
	refusedBody       = time.Second // for the rest of a request that was refused, so that its sender gets the answer
)

// RemoteOptions are the files for the access of clients on other machines. One of ClientsCA
// and Tokens is required, because without both no client can prove its name.
type RemoteOptions struct {
	Cert, Key string // the daemon's certificate with its chain, and the private key; PEM
	ClientsCA string // certificates of the authorities of clients, PEM; empty: none
	Tokens    string // the clients' tokens, see credential.ReadTokens; empty: none
}

// Remote serves the control API over TLS to clients on other machines. A client proves its
// name by a certificate or a token. Then it may ask and report, also in the names of
// others, but not administrate.
//
//	Listen -> TLS -> authenticate -> the handler of NewHandler
//
// Each request has to prove the name. So a client that was removed from the files is
// refused after the next Reload, also on its open connections. A Remote is safe for
// concurrent use.
type Remote struct {
	log      *slog.Logger
	door     *Door
	state    atomic.Pointer[remoteState]
	refused  *prometheus.CounterVec
	refusals loglimit.Minutely // of the log lines, by reason
}

// remoteState is the contents of the files.
type remoteState struct {
	tls    *tls.Config
	tokens credential.Tokens
}

// NewRemote reads the files. An error names the file that is wrong.
func NewRemote(o RemoteOptions, log *slog.Logger) (*Remote, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	door := newDoor("control.remote", bounds{all: maxRemote}, log)
	door.userOf = func(conn net.Conn, _ desk.Origin) (user string, bound int) {
		return secured.HostOf(conn.RemoteAddr()), maxOfAddress
	}
	r := &Remote{log: log, door: door, refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spambloom_remote_refused_total",
		Help: "Connections without TLS, and requests of clients that prove no name, by reason.",
	}, []string{"reason"})}
	return r, r.Reload(o)
}

// Collectors returns the metrics of refused connections and requests.
func (r *Remote) Collectors() []prometheus.Collector {
	return append(r.door.Collectors(), r.refused)
}

// Lockout is Door.Lockout for the clients' addresses.
func (r *Remote) Lockout() (text string, all bool) { return r.door.Lockout() }

// refuse counts a client that is refused. It logs one line a minute for each reason.
func (r *Remote) refuse(reason, from string, err error) {
	r.refused.WithLabelValues(reason).Inc()
	if n := r.refusals.Take(reason); n > 0 {
		r.log.Warn("remote client refused", "from", from, "error", err, "refused", n)
	}
}

// Reload reads the files again, for the connections and requests from now on. After an
// error the previous contents stay in use.
func (r *Remote) Reload(o RemoteOptions) error {
	if o.ClientsCA == "" && o.Tokens == "" {
		return errors.New("neither certificates nor tokens of clients: nobody could prove a name")
	}
	pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
	if err != nil {
		return fmt.Errorf("certificate and key %s, %s: %w", o.Cert, o.Key, err)
	}
	s := &remoteState{tls: &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"http/1.1"},
		// A resumed session would be verified with the previous files.
		SessionTicketsDisabled: true,
	}}
	if o.ClientsCA != "" {
		// Verified with each request, not in the handshake: so a client gets a sentence
		// with the reason in place of an alert.
		s.tls.ClientAuth = tls.RequestClientCert
		if s.tls.ClientCAs, err = credential.ReadAuthorities(o.ClientsCA); err != nil {
			return fmt.Errorf("CA of clients: %w", err)
		}
	}
	if o.Tokens != "" {
		if s.tokens, err = credential.ReadTokens(o.Tokens); err != nil {
			return fmt.Errorf("tokens of clients: %w", err)
		}
	}
	r.state.Store(s)
	r.checkExpiry(pair.Leaf)
	return nil
}

// checkExpiry logs a certificate that has expired or soon will.
func (r *Remote) checkExpiry(leaf *x509.Certificate) {
	switch left := time.Until(leaf.NotAfter); {
	case left <= 0:
		r.log.Warn("the certificate for remote clients has expired: none will trust it", "expired", leaf.NotAfter)
	case left < expirySoon:
		r.log.Warn("the certificate for remote clients expires soon", "expires", leaf.NotAfter)
	}
}

// NewServer returns the server for other machines, like that of New, with h behind
// authenticate. Its Serve is to be called with a listener from Listen.
func (r *Remote) NewServer(h http.Handler) *http.Server {
	s := New(r.authenticate(h), r.log)
	s.ReadTimeout = remoteReadTimeout // the network is slower than a unix socket
	// It begins with the request's body, and a body that is late is answered.
	s.WriteTimeout = remoteReadTimeout + writeTimeout
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return withVisit(context.WithValue(ctx, connKey{}, conn), conn)
	}
	return s
}

// Listen bounds the open connections of ln to 128, and to 32 of one address, and speaks TLS
// on them. Further ones are closed.
func (r *Remote) Listen(ln net.Listener) net.Listener {
	return remoteListener{r.door.Listen(ln), r}
}

type remoteListener struct {
	net.Listener
	remote *Remote
}

func (l remoteListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &remoteConn{Conn: secured.Server(conn, l.remote.state.Load().tls), remote: l.remote}, nil
}

// remoteConn is a TLS connection. The first read does the handshake, because the server has
// a deadline for it. A failed handshake is logged. A client that speaks plain HTTP gets an
// answer in plain HTTP.
type remoteConn struct {
	*secured.Conn
	remote *Remote
	open   bool // the handshake is done; only the reader uses it
}

func (c *remoteConn) Read(p []byte) (int, error) {
	if !c.open {
		if err := c.Handshake(); err != nil {
			c.fail(err)
			return 0, io.EOF // logged already
		}
		c.open = true
	}
	return c.Conn.Read(p)
}

func (c *remoteConn) fail(err error) {
	if errors.Is(err, io.EOF) { // a probe of the port
		return
	}
	c.remote.refuse("tls", c.RemoteAddr().String(), err)
	var plain tls.RecordHeaderError
	if errors.As(err, &plain) && plain.Conn != nil && isHTTP(plain.RecordHeader) {
		p := api.NewProblem(http.StatusBadRequest, "this port speaks TLS: the address begins with https://")
		_, _ = plain.Conn.Write(refusal.Raw(p))
	}
}

// isHTTP reports whether a connection begins with an HTTP method.
func isHTTP(head [5]byte) bool {
	for _, b := range head {
		if (b < 'A' || b > 'Z') && b != ' ' && b != '/' {
			return false
		}
	}
	return true
}

func (c *remoteConn) Write(p []byte) (int, error) { return refusal.Write(c.Conn, p) }

type connKey struct{}

// authenticate passes requests to h if their client proves its name. Others are answered
// with status 401, and their connection is closed.
func (r *Remote) authenticate(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		client, holds, err := r.state.Load().client(request)
		if err != nil {
			r.refuse("name", request.RemoteAddr, err)
			w.Header().Set("WWW-authenticate", `Bearer realm="spambloom"`)
			w.Header().Set("Connection", "close")
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusedBody)) // of tests: no connection
			writeProblem(w, api.NewProblem(http.StatusUnauthorized, "%v", err))
			return
		}
		if conn, ok := request.Context().Value(connKey{}).(*remoteConn); ok { // without a name, it stays idle
			conn.Beneath().(*doorConn).keep(client)
		}
		origin := desk.Origin{Client: client, Holds: func() bool { return holds(r.state.Load()) }}
		h.ServeHTTP(w, request.WithContext(WithOrigin(request.Context(), origin)))
	})
}

// client returns the name that a request proves: that of its token if it has one, else that
// of the connection's certificate. holds reports whether the files prove it still.
func (s *remoteState) client(r *http.Request) (name string, holds func(now *remoteState) bool, err error) {
	if header := r.Header.Get("Authorization"); header != "" {
		token, ok := cutScheme(header, "Bearer")
		if !ok {
			return "", nil, errors.New("the authorization is not of the form Bearer TOKEN")
		}
		if proof, ok := s.tokens.Prove(token); ok {
			return proof.Client(), func(now *remoteState) bool { return now.tokens.Holds(proof) }, nil
		}
		return "", nil, errToken
	}
	conn, _ := r.Context().Value(connKey{}).(*remoteConn)
	if conn == nil || s.tls.ClientCAs == nil {
		return "", nil, errors.New("a token is wanted")
	}
	chain := conn.ConnectionState().PeerCertificates
	if len(chain) == 0 {
		return "", nil, errors.New("a certificate or a token is wanted")
	}
	name, err = s.certified(chain)
	return name, func(now *remoteState) bool { // not verified again: that may take milliseconds
		return now.tls.ClientCAs.Equal(s.tls.ClientCAs) && time.Now().Before(chain[0].NotAfter)
	}, err
}

// cutScheme returns an authorization without its scheme, whose case does not matter (RFC
// 9110, section 11.1).
func cutScheme(header, scheme string) (credentials string, ok bool) {
	given, credentials, ok := strings.Cut(header, " ")
	return strings.TrimSpace(credentials), ok && strings.EqualFold(given, scheme)
}

// certified returns the name on a client's certificate: the first DNS name, else the common
// name. The certificate has to be signed by one of the authorities and valid now. The
// handshake has proven that the client has the private key.
func (s *remoteState) certified(chain []*x509.Certificate) (string, error) {
	if err := secured.CheckChain(chain); err != nil {
		return "", err
	}
	leaf, between := chain[0], x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: s.tls.ClientCAs, Intermediates: between,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return "", fmt.Errorf("the client's certificate is refused: %w", err)
	}
	name := leaf.Subject.CommonName
	if len(leaf.DNSNames) > 0 {
		name = leaf.DNSNames[0]
	}
	if err := credential.CheckClient(name); err != nil {
		return "", fmt.Errorf("the name on the client's certificate: %w", err)
	}
	return name, nil
}
