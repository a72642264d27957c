package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/credential"
)

// stall lets a server's read of TLS wait for its client: the client sends a record that is answered
// with an alert, as an update of keys is answered with another, and does not read the answer.
func stall(t *testing.T, ln *pipes) io.Writer {
	t.Helper()
	raw := ln.connect(t)
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
	testenv.Check(t, conn.Handshake())
	_, err := raw.Write(append([]byte{23, 3, 3, 0, 20}, make([]byte, 20)...))
	testenv.Check(t, err)
	_, err = raw.Read(make([]byte, 1))
	testenv.Check(t, err)
	return raw
}

// TestRemoteClientThatDoesNotRead is the attack "key updates": TLS writes while it reads, before
// any request, and net/http sets a deadline for that write only for its own TLS.
func TestRemoteClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		serveRemote(t, func(f *remoteServer) { f.ln = ln })
		begun := time.Now()
		// The write ends only because the server gives the connection up.
		if n, err := stall(t, ln).Write([]byte("x")); err == nil {
			t.Errorf("%d bytes are read after a faulty record", n)
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("the connection was open for %v", took)
		}
	})
}

// At the daemon's stop, such a connection is closed at once: the server holds its lock meanwhile.
func TestRemoteClosesWithoutWaiting(t *testing.T) {
	f := serveRemote(t, nil)
	ln := newPipes()
	defer ln.Close()
	limited, accepted := f.remote.Listen(ln), make(chan net.Conn, 1)
	go func() {
		conn, err := limited.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		accepted <- conn
		conn.Read(make([]byte, 1)) // until it is closed
	}()
	stall(t, ln)
	conn, closed := testenv.Receive(t, "a connection", accepted), make(chan error, 1)
	go func() { closed <- conn.Close() }()
	testenv.Check(t, testenv.Receive(t, "the end of Close", closed))
}

// TestRemoteRequestIsNotClosed is the attack "many addresses": connections of others do not close
// one with a request, whatever their number.
func TestRemoteRequestIsNotClosed(t *testing.T) {
	token, line, err := credential.NewToken("store1")
	testenv.Check(t, err)
	ln := make(crowd)
	f := serveRemote(t, func(f *remoteServer) { f.tokensFile(t, line) })
	serveOn(t, f.remote.Listen(ln), f.remote.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range 2 * maxRemote { // while the request is answered
			other, served := net.Pipe()
			t.Cleanup(func() { other.Close() })
			ln <- distant{served, fmt.Sprintf("198.51.100.%d", i)}
		}
		_, err := io.WriteString(w, r.URL.Path)
		testenv.Check(t, err)
	})))
	here, served := net.Pipe()
	ln <- distant{served, "192.0.2.1"}
	conn := tls.Client(here, &tls.Config{InsecureSkipVerify: true})
	io.WriteString(conn, "GET /asked HTTP/1.0\r\nAuthorization: Bearer "+token+"\r\n\r\n")
	if got, err := io.ReadAll(conn); !strings.HasSuffix(string(got), "/asked") {
		t.Errorf("answered %q, %v", got, err)
	}
}

// TestRefusedBodyKeepsNoPlace is the attack "slow bodies": clients of many addresses prove no name, and
// send the body of their request slowly, after it was refused.
func TestRefusedBodyKeepsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token, line, err := credential.NewToken("store1")
		testenv.Check(t, err)
		ln := make(crowd)
		serveRemote(t, func(f *remoteServer) { f.ln = ln; f.tokensFile(t, line) })
		connect := func(from, request string) *tls.Conn {
			here, served := net.Pipe()
			t.Cleanup(func() { here.Close() })
			ln <- distant{served, from}
			conn := tls.Client(here, &tls.Config{InsecureSkipVerify: true})
			io.WriteString(conn, request)
			return conn
		}
		answer := func(conn *tls.Conn) string {
			b := make([]byte, 20)
			n, _ := conn.Read(b)
			return string(b[:n])
		}
		var first *tls.Conn
		for i := range maxRemote {
			slow := connect(fmt.Sprintf("198.51.100.%d", i), "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n")
			if got := answer(slow); !strings.HasPrefix(got, "HTTP/1.1 401 ") {
				t.Fatalf("answered %q", got)
			}
			if i == 1 {
				first = slow
			}
		}
		if got := answer(connect("192.0.2.1", "GET /v1/whoami HTTP/1.0\r\nAuthorization: Bearer "+token+"\r\n\r\n")); !strings.HasPrefix(got, "HTTP/1.0 200 ") {
			t.Errorf("while others send slowly, a client is answered %q", got)
		}
		begun := time.Now()
		io.Copy(io.Discard, first)
		if took := time.Since(begun); took > headerTimeout {
			t.Errorf("a refused request keeps its connection for %v", took)
		}
	})
}

// TestLargeCertificate is the attack "large certificate": a client without an authority sends one
// with many names, each of which takes many times its bytes while the connection is open.
func TestLargeCertificate(t *testing.T) {
	f := serveRemote(t, nil)
	for _, c := range []struct {
		names  int
		answer string
	}{{3_000, "HTTP/1.1 401 "}, {20_000, ""}} {
		cert := manyNames(t, c.names)
		conn, err := tls.Dial("tcp", f.address, &tls.Config{
			InsecureSkipVerify:   true,
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil },
		})
		testenv.Check(t, err)
		io.WriteString(conn, "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n") // refused, too, if the connection is closed already
		got, _ := io.ReadAll(conn)
		if !strings.HasPrefix(string(got), c.answer) || c.answer == "" && len(got) > 0 {
			t.Errorf("%d names: answered %.80q, want %q", c.names, got, c.answer)
		}
		conn.Close()
	}
	if !strings.Contains(f.log.String(), "is longer than 16384 bytes") || !strings.Contains(f.log.String(), "certificate is refused: x509") {
		t.Error(f.log.String())
	}
}

// manyNames returns a certificate that no authority signed, with so many URIs.
func manyNames(t *testing.T, n int) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testenv.Check(t, err)
	names := make([]asn1.RawValue, n)
	for i := range names {
		names[i] = asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 6, Bytes: []byte("a")}
	}
	value, err := asn1.Marshal(names)
	testenv.Check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotAfter: time.Now().Add(time.Hour),
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: value}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	testenv.Check(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
