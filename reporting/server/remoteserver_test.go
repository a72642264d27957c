package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
)

// authority signs certificates for tests.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // its certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "test CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.file, _ = a.issue(template)
	return a
}

// issue signs a certificate that is good for an hour, or as long as the template says,
// and writes it and its key.
func (a *authority) issue(template *x509.Certificate) (cert, key string) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore = time.Now().Add(-2 * time.Hour)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, private
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &private.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	if a.cert == nil {
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			a.t.Fatal(err)
		}
		a.key = private
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	name := filepath.Join(a.dir, template.SerialNumber.String())
	return a.write(name+".crt", "CERTIFICATE", der), a.write(name+".key", "PRIVATE KEY", raw)
}

func (a *authority) write(path, kind string, der []byte) string {
	a.t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

func (a *authority) server(until time.Time) (cert, key string) {
	return a.issue(&x509.Certificate{
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

func (a *authority) client(common string, until time.Time, dns ...string) client.Credentials {
	cert, key := a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: common}, DNSNames: dns, NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return client.Credentials{CA: a.file, Cert: cert, Key: key}
}

// remoteServer is a control API for other machines, on loopback.
type remoteServer struct {
	ca      *authority
	options RemoteOptions
	remote  *Remote
	ln      net.Listener // TCP on loopback if it is nil
	address string       // HOST:PORT
	log     *logBuffer
	db      *bloomdb.DB
	links   map[string]func() bool // to the page, by client
}

func (f *remoteServer) url() string { return "https://" + f.address }

// tokensFile writes lines for the daemon.
func (f *remoteServer) tokensFile(t *testing.T, lines ...string) {
	t.Helper()
	testenv.Check(t, os.WriteFile(f.options.Tokens, []byte(strings.Join(lines, "\n")), 0o600))
}

// serveRemote serves other machines until the test's end. Change comes before the start.
func serveRemote(t *testing.T, change func(*remoteServer)) *remoteServer {
	t.Helper()
	f := &remoteServer{ca: newAuthority(t), log: &logBuffer{}, db: desktest.OpenDB(t), links: map[string]func() bool{}}
	f.options = RemoteOptions{ClientsCA: f.ca.file, Tokens: filepath.Join(t.TempDir(), "tokens")}
	f.options.Cert, f.options.Key = f.ca.server(time.Time{})
	f.tokensFile(t)
	if change != nil {
		change(f)
	}
	log := slog.New(slog.NewTextHandler(f.log, nil))
	var err error
	if f.remote, err = NewRemote(f.options, log); err != nil {
		t.Fatal(err)
	}
	h := NewHandler(desk.New(f.db, desktest.OpenLedger(t, trust.Default()), desk.Options{Log: log}), HandlerOptions{
		Decide: desktest.Decide, Log: log, Access: NewAccess(AccessOptions{Group: "none", GID: -1}),
		Link: func(name string, origin desk.Origin) string { f.links[name] = origin.Holds; return "/" },
	})
	if f.ln == nil {
		if f.ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	f.address = f.ln.Addr().String()
	t.Cleanup(func() {
		if err := f.db.Close(); err != nil {
			t.Error(err)
		}
	})
	serveOn(t, f.remote.Listen(f.ln), f.remote.NewServer(h))
	return f
}
