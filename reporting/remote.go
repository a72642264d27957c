package reporting

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
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Bounds of the listener for other machines. A connection is cut that has not shaken
// hands and sent a request's header within headerTimeout.
const (
	maxRemote         = 128 // connections
	maxOfAddress      = 32  // of one address
	remoteReadTimeout = 30 * time.Second
	maxPEM            = 1 << 20 // bytes of a file of certificates
	expirySoon        = 14 * 24 * time.Hour
)

// RemoteOptions name the files with which clients on other machines are let in. At
// least one of ClientsCA and Tokens is wanted: without, nobody could prove a name.
type RemoteOptions struct {
	Cert, Key string // the daemon's certificate with its chain, and the private key; PEM
	ClientsCA string // certificates of who signs the clients', PEM; "": none
	Tokens    string // the clients' tokens, see NewToken; "": none
}

// Remote lets clients on other machines use the control API over TLS. A client proves
// its name by a certificate or by a token; then it may ask and report, also in the
// names of others, and never administrate.
//
//	Listen -> TLS -> Authenticate -> the handler of NewHandler
//
// The proof is asked of each request, so that a client that is taken out of the files
// is out with the next Reload, also on the connections it has. It is safe for
// concurrent use.
type Remote struct {
	log      *slog.Logger
	door     *Door
	state    atomic.Pointer[remoteState]
	refused  *prometheus.CounterVec
	refusals throttle // of the log lines, by reason
}

// remoteState is what was read from the files at one time.
type remoteState struct {
	tls    *tls.Config
	tokens tokens
}

// NewRemote reads the files. The error names the one that is wrong.
func NewRemote(o RemoteOptions, log *slog.Logger) (*Remote, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	door := newDoor("control.remote", bounds{all: maxRemote}, log)
	door.userOf = func(conn net.Conn, _ Origin) (user string, bound int) { return hostOf(conn.RemoteAddr()), maxOfAddress }
	r := &Remote{log: log, door: door, refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spambloom_remote_refused_total",
		Help: "Connections without TLS, and requests of clients that prove no name, by reason.",
	}, []string{"reason"})}
	return r, r.Reload(o)
}

// hostOf is an address without its port, of IPv6 the network of 64 bits.
func hostOf(a net.Addr) string {
	from, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	ip := from.Addr().Unmap()
	if network, err := ip.Prefix(64); err == nil && ip.Is6() {
		return network.String()
	}
	return ip.String()
}

// Collectors are the metrics of who was not let in.
func (r *Remote) Collectors() []prometheus.Collector {
	return append(r.door.Collectors(), r.refused)
}

// Lockout is Door.Lockout of the clients' addresses.
func (r *Remote) Lockout() (text string, all bool) { return r.door.Lockout() }

// refuse takes note of a client that is not let in; one line a minute is logged for each
// reason.
func (r *Remote) refuse(reason, from string, err error) {
	r.refused.WithLabelValues(reason).Inc()
	if n := r.refusals.take(reason); n > 0 {
		r.log.Warn("remote client refused", "from", from, "error", err, "refused", n)
	}
}

// Reload reads the files again, for the connections and requests from now on. After
// an error nothing has changed.
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
		// A resumed session would be let in by what was read before.
		SessionTicketsDisabled: true,
	}}
	if o.ClientsCA != "" {
		// Asked for here and verified with each request: a client then gets a sentence
		// that says what is wrong, in the place of an alert.
		s.tls.ClientAuth = tls.RequestClientCert
		if s.tls.ClientCAs, err = readPool(o.ClientsCA); err != nil {
			return fmt.Errorf("CA of clients: %w", err)
		}
	}
	if o.Tokens != "" {
		if s.tokens, err = readTokenFile(o.Tokens); err != nil {
			return fmt.Errorf("tokens of clients: %w", err)
		}
	}
	r.state.Store(s)
	r.checkExpiry(pair.Leaf)
	return nil
}

// checkExpiry says in the log when the daemon's certificate is about to be of no use.
func (r *Remote) checkExpiry(leaf *x509.Certificate) {
	switch left := time.Until(leaf.NotAfter); {
	case left <= 0:
		r.log.Warn("the certificate for remote clients has expired: none will trust it", "expired", leaf.NotAfter)
	case left < expirySoon:
		r.log.Warn("the certificate for remote clients expires soon", "expires", leaf.NotAfter)
	}
}

// readPool reads certificates of who is trusted to sign others.
func readPool(path string) (*x509.CertPool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPEM+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	pool := x509.NewCertPool()
	if len(text) > maxPEM || !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: holds no certificate, or is over %d bytes", path, maxPEM)
	}
	return pool, nil
}

// NewServer returns the server for the other machines: as the one of NewServer, on a
// listener that went through Listen, with h behind Authenticate.
func (r *Remote) NewServer(h http.Handler) *http.Server {
	s := NewServer(r.Authenticate(h), r.log)
	s.ReadTimeout = remoteReadTimeout // the way is longer than on one machine
	// Its time begins with the request's body, and a body that comes too late is answered.
	s.WriteTimeout = remoteReadTimeout + writeTimeout
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return withVisit(context.WithValue(ctx, connKey{}, conn), conn)
	}
	return s
}

// Listen bounds the open connections that ln accepts to 128, and 32 of one address, and
// speaks TLS on them. Further ones are closed.
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
	return &remoteConn{Conn: tls.Server(conn, l.remote.state.Load().tls), remote: l.remote}, nil
}

// remoteConn is a TLS connection. It shakes hands with its first read, for which the
// server has a deadline, and where it cannot, says why in the log, and to a client
// that speaks plain HTTP in its own language.
type remoteConn struct {
	*tls.Conn
	remote *Remote
	open   bool // hands were shaken; only the reader looks at it
}

func (c *remoteConn) Read(p []byte) (int, error) {
	if !c.open {
		if err := c.Handshake(); err != nil {
			c.fail(err)
			return 0, io.EOF // said already
		}
		c.open = true
	}
	return c.Conn.Read(p)
}

func (c *remoteConn) fail(err error) {
	if errors.Is(err, io.EOF) { // somebody looked whether the port is open
		return
	}
	c.remote.refuse("tls", c.RemoteAddr().String(), err)
	var plain tls.RecordHeaderError
	if errors.As(err, &plain) && plain.Conn != nil && isHTTP(plain.RecordHeader) {
		p := newProblem(http.StatusBadRequest, "this port speaks TLS: the address begins with https://")
		_, _ = plain.Conn.Write(p.raw())
	}
}

// isHTTP says whether a connection begins like a request of HTTP: with a method.
func isHTTP(head [5]byte) bool {
	for _, b := range head {
		if (b < 'A' || b > 'Z') && b != ' ' && b != '/' {
			return false
		}
	}
	return true
}

func (c *remoteConn) Write(p []byte) (int, error) { return writeRefusal(c.Conn, p) }

type connKey struct{}

// Authenticate lets the requests of clients through to h that prove a name. Others
// are answered with status 401, and their connection is closed.
func (r *Remote) Authenticate(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		client, err := r.state.Load().client(request)
		if err != nil {
			r.refuse("name", request.RemoteAddr, err)
			w.Header().Set("WWW-Authenticate", `Bearer realm="spambloom"`)
			w.Header().Set("Connection", "close")
			newProblem(http.StatusUnauthorized, "%v", err).write(w)
			return
		}
		origin := Origin{Client: client}
		h.ServeHTTP(w, request.WithContext(context.WithValue(request.Context(), originKey{}, origin)))
	})
}

// client is the name that a request proves: that of its token where it has one, else
// that of the connection's certificate.
func (s *remoteState) client(r *http.Request) (string, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		token, ok := cutScheme(header, "Bearer")
		if !ok {
			return "", errors.New("the authorization is not of the form Bearer TOKEN")
		}
		if name := s.tokens.of(token); name != "" {
			return name, nil
		}
		return "", errors.New("the token is none of those that are let in")
	}
	conn, _ := r.Context().Value(connKey{}).(*remoteConn)
	if conn == nil || s.tls.ClientCAs == nil {
		return "", errors.New("a token is wanted")
	}
	chain := conn.ConnectionState().PeerCertificates
	if len(chain) == 0 {
		return "", errors.New("a certificate or a token is wanted")
	}
	return s.certified(chain)
}

// cutScheme takes the scheme off an authorization; its case does not matter (RFC 9110,
// section 11.1).
func cutScheme(header, scheme string) (credentials string, ok bool) {
	given, credentials, ok := strings.Cut(header, " ")
	return strings.TrimSpace(credentials), ok && strings.EqualFold(given, scheme)
}

// certified is the name on a client's certificate, if it is signed by who may do so,
// and is good today: the first DNS name, else the common name. That the client has its
// private key was shown in the handshake.
func (s *remoteState) certified(chain []*x509.Certificate) (string, error) {
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
	if err := checkClient(name); err != nil {
		return "", fmt.Errorf("the name on the client's certificate: %w", err)
	}
	return name, nil
}
