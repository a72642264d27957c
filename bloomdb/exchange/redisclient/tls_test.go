package redisclient_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// startPonger listens with a certificate of a CA, requires one of the client, and answers
// every command with PONG.
func startPonger(t *testing.T, a *redistest.Authority) (address string) {
	t.Helper()
	a.Issue("server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	pair, err := tls.LoadX509KeyPair(a.Path("server.pem"), a.Path("server.key"))
	testenv.Check(t, err)
	clients := x509.NewCertPool()
	clients.AddCert(a.Cert)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert})
	testenv.Check(t, err)
	served := make(chan struct{})
	t.Cleanup(func() { ln.Close(); <-served })
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
	a := redistest.NewAuthority(t)
	address := startPonger(t, a)
	a.Issue("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	for _, c := range []struct {
		name, url string
		o         redisclient.Options
		want      string // "": it works
	}{
		{"all", "rediss://" + address, redisclient.Options{CA: a.Path("ca.pem"), Cert: a.Path("client.pem"), Key: a.Path("client.key")}, ""},
		{"system's CAs", "rediss://" + address, redisclient.Options{Cert: a.Path("client.pem"), Key: a.Path("client.key")}, "certificate signed by unknown authority"},
		{"no certificate", "rediss://" + address, redisclient.Options{CA: a.Path("ca.pem")}, "certificate required"},
		{"another name", strings.Replace("rediss://"+address, "127.0.0.1", "localhost", 1), redisclient.Options{CA: a.Path("ca.pem"), Cert: a.Path("client.pem"), Key: a.Path("client.key")}, "certificate is"},
	} {
		client, err := redisclient.Dial(c.url, c.o)
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
	a := redistest.NewAuthority(t)
	o := redisclient.Options{CA: a.Path("ca.pem")}
	for _, url := range []string{"rediss://h1:1", "rediss://h1:1,h2:2", "rediss://h1:1,h2:2?master_name=m"} {
		c, err := redisclient.Dial(url, o)
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
	a := redistest.NewAuthority(t)
	a.Issue("other", &x509.Certificate{})
	for name, c := range map[string]struct {
		url  string
		o    redisclient.Options
		want string
	}{
		"no TLS":           {"redis://h", redisclient.Options{CA: a.Path("ca.pem")}, "rediss://"},
		"no TLS by socket": {"unix:///s", redisclient.Options{CA: a.Path("ca.pem")}, "rediss://"},
		"no CA":            {"rediss://h", redisclient.Options{CA: a.Path("none.pem")}, "none.pem: no such file"},
		"a key for a CA":   {"rediss://h", redisclient.Options{CA: a.Path("ca.key")}, "ca.key: contains no PEM certificate"},
		"key is missing":   {"rediss://h", redisclient.Options{Cert: a.Path("ca.pem")}, "both required"},
		"certificate too":  {"rediss://h", redisclient.Options{Key: a.Path("ca.key")}, "both required"},
		"key of another":   {"rediss://h", redisclient.Options{Cert: a.Path("ca.pem"), Key: a.Path("other.key")}, "private key does not match"},
		"in a cluster":     {"rediss://h1:1,h2:2", redisclient.Options{CA: a.Path("none.pem")}, "no such file"},
		"in sentinels":     {"rediss://h1:1?master_name=m", redisclient.Options{CA: a.Path("none.pem")}, "no such file"},
	} {
		client, err := redisclient.Dial(c.url, c.o)
		if err == nil {
			client.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
