package main

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/spambloom/spambloom/reporting/server"
)

// cmdRemote: remote TOKENS starts a daemon that listens on loopback over TLS. It accepts
// the clients in the file TOKENS, and store2 with the certificate store2.pem and the key
// store2.key. The command writes these and ca.pem, and sets SPAMBLOOM_CONTROL.
func cmdRemote(ts *testscript.TestScript, _ bool, args []string) {
	borrowed := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate of 127.0.0.1
	pair := borrowed.TLS.Certificates[0]
	borrowed.Close()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	ts.Check(err)
	write := func(name, kind string, der []byte) string {
		path := ts.MkAbs(name)
		ts.Check(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "store2"}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	client, err := x509.CreateCertificate(rand.Reader, template, template, pair.PrivateKey.(crypto.Signer).Public(), pair.PrivateKey)
	ts.Check(err)
	write("store2.key", "PRIVATE KEY", key)
	remote, err := server.NewRemote(server.RemoteOptions{
		Cert: write("ca.pem", "CERTIFICATE", pair.Certificate[0]), Key: write("remote.key", "PRIVATE KEY", key),
		Tokens: ts.MkAbs(args[0]), ClientsCA: write("store2.pem", "CERTIFICATE", client),
	}, nil)
	ts.Check(err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	d := daemonOf(ts)
	s := remote.NewServer(d.api)
	d.servers = append(d.servers, s)
	go func() { d.done <- s.Serve(remote.Listen(ln)) }()
	ts.Setenv("SPAMBLOOM_CONTROL", "https://"+ln.Addr().String())
}
