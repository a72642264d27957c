package main

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/spambloom/spambloom/reporting"
)

// cmdFar: far TOKENS puts a daemon on another address of loopback, over TLS, that lets
// in the clients of the file TOKENS. It writes ca.pem and sets SPAMBLOOM_CONTROL.
func cmdFar(ts *testscript.TestScript, _ bool, args []string) {
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
	remote, err := reporting.NewRemote(reporting.RemoteOptions{
		Cert: write("ca.pem", "CERTIFICATE", pair.Certificate[0]), Key: write("far.key", "PRIVATE KEY", key),
		Tokens: ts.MkAbs(args[0]),
	}, nil)
	ts.Check(err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	d := daemonOf(ts)
	server := remote.NewServer(d.api)
	d.servers = append(d.servers, server)
	go func() { d.done <- server.Serve(remote.Listen(ln)) }()
	ts.Setenv("SPAMBLOOM_CONTROL", "https://"+ln.Addr().String())
}
