package exchange

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// authority is a private CA with its files in a folder.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "private CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.cert, a.key = a.issue("ca", template)
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// issue writes NAME.pem and NAME.key.
func (a *authority) issue(name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(int64(len(name)))
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+".key", "PRIVATE KEY", secret)
	return cert, key
}

func (a *authority) write(name, kind string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(a.path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// server listens with a certificate of this CA, requires one of the client, and answers
// every command with PONG.
func (a *authority) server() (address string) {
	a.t.Helper()
	a.issue("server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	pair, err := tls.LoadX509KeyPair(a.path("server.pem"), a.path("server.key"))
	if err != nil {
		a.t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AddCert(a.cert)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert})
	if err != nil {
		a.t.Fatal(err)
	}
	served := make(chan struct{})
	a.t.Cleanup(func() { ln.Close(); <-served })
	go func() {
		defer close(served)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 512)
			for {
				n, err := conn.Read(buf)
				if err != nil {
					break
				}
				answer := "+PONG\r\n"
				if strings.Contains(strings.ToLower(string(buf[:n])), "hello") {
					answer = "-ERR unknown command 'hello'\r\n"
				}
				if _, err := conn.Write([]byte(answer)); err != nil {
					break
				}
			}
			conn.Close()
		}
	}()
	return ln.Addr().String()
}

// A server of a private CA is trusted only with that CA, and accepts only clients with a
// certificate.
func TestDialWithPrivateCA(t *testing.T) {
	a := newAuthority(t)
	address := a.server()
	a.issue("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	for _, c := range []struct {
		name, url string
		o         DialOptions
		want      string // "": it works
	}{
		{"all", "rediss://" + address, DialOptions{a.path("ca.pem"), a.path("client.pem"), a.path("client.key")}, ""},
		{"system's CAs", "rediss://" + address, DialOptions{Cert: a.path("client.pem"), Key: a.path("client.key")}, "certificate signed by unknown authority"},
		{"no certificate", "rediss://" + address, DialOptions{CA: a.path("ca.pem")}, "certificate required"},
		{"another name", strings.Replace("rediss://"+address, "127.0.0.1", "localhost", 1), DialOptions{a.path("ca.pem"), a.path("client.pem"), a.path("client.key")}, "certificate is"},
	} {
		client, err := Dial(c.url, c.o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		err = client.Ping(t.Context()).Err()
		client.Close()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Clusters and sentinels use the files too.
func TestDialGivesFilesToAll(t *testing.T) {
	a := newAuthority(t)
	o := DialOptions{CA: a.path("ca.pem")}
	for _, url := range []string{"rediss://h1:1", "rediss://h1:1,h2:2", "rediss://h1:1,h2:2?master_name=m"} {
		c, err := Dial(url, o)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		defer c.Close()
		var config *tls.Config
		switch c := c.UniversalClient.(type) {
		case *redis.Client:
			config = c.Options().TLSConfig
		case *redis.ClusterClient:
			config = c.Options().TLSConfig
		}
		if config == nil || config.RootCAs == nil {
			t.Errorf("%s: %T has no CA", url, c)
		}
	}
}

func TestDialRefusesFiles(t *testing.T) {
	a := newAuthority(t)
	a.issue("other", &x509.Certificate{})
	for name, c := range map[string]struct {
		url  string
		o    DialOptions
		want string
	}{
		"no TLS":           {"redis://h", DialOptions{CA: a.path("ca.pem")}, "rediss://"},
		"no TLS by socket": {"unix:///s", DialOptions{CA: a.path("ca.pem")}, "rediss://"},
		"no CA":            {"rediss://h", DialOptions{CA: a.path("none.pem")}, "none.pem: no such file"},
		"a key for a CA":   {"rediss://h", DialOptions{CA: a.path("ca.key")}, "ca.key: contains no PEM certificate"},
		"key is missing":   {"rediss://h", DialOptions{Cert: a.path("ca.pem")}, "both required"},
		"certificate too":  {"rediss://h", DialOptions{Key: a.path("ca.key")}, "both required"},
		"key of another":   {"rediss://h", DialOptions{Cert: a.path("ca.pem"), Key: a.path("other.key")}, "private key does not match"},
		"in a cluster":     {"rediss://h1:1,h2:2", DialOptions{CA: a.path("none.pem")}, "no such file"},
		"in sentinels":     {"rediss://h1:1?master_name=m", DialOptions{CA: a.path("none.pem")}, "no such file"},
	} {
		client, err := Dial(c.url, c.o)
		if err == nil {
			client.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
