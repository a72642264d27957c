package server

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/reporting/credential"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/server/loglimit"
	"github.com/spambloom/spambloom/reporting/server/secured"
)

// A client is let in by a certificate or a token, under the name that these have.
func TestRemoteClients(t *testing.T) {
	token, line, err := credential.NewToken("store1")
	testenv.Check(t, err)
	f := serveRemote(t, func(f *remoteServer) { f.tokensFile(t, "# stores", line) })
	other := newAuthority(t)
	past := time.Now().Add(-time.Hour)
	foreign := other.client("store9", time.Time{})
	foreign.CA = f.ca.file
	serverCert, serverKey := f.ca.server(time.Time{})
	refused := 0
	for _, c := range []struct {
		name string
		with client.Credentials
		want string // the client's name
		fail string // what the refusal says
	}{
		{"token", client.Credentials{CA: f.ca.file, Token: token}, "store1", ""},
		{"certificate with DNS names", f.ca.client("common", time.Time{}, "store2.example.org", "other.example.org"), "store2.example.org", ""},
		{"certificate with a common name", f.ca.client("store3", time.Time{}), "store3", ""},
		{"nothing", client.Credentials{CA: f.ca.file}, "", "a certificate or a token is wanted"},
		{"wrong token", client.Credentials{CA: f.ca.file, Token: token + "x"}, "", "the token is none of those that are let in"},
		{"digest as token", client.Credentials{CA: f.ca.file, Token: strings.Fields(line)[1]}, "", "the token is none"},
		{"certificate of another CA", foreign, "", "signed by unknown authority"},
		{"expired certificate", f.ca.client("store4", past), "", "certificate has expired"},
		{"certificate of a server", client.Credentials{CA: f.ca.file, Cert: serverCert, Key: serverKey}, "", "incompatible key usage"},
		{"certificate with a name that is none", f.ca.client("two words", time.Time{}), "", "is not allowed in a name"},
		{"certificate without a name", f.ca.client("", time.Time{}), "", "a client without a name"},
		{"certificate that plays root", f.ca.client("uid:0", time.Time{}), "", "a name has no colon"},
	} {
		store, err := client.DialRemote(f.url(), c.with)
		if c.fail != "" {
			var p *api.Problem
			if !errors.As(err, &p) || p.Status != http.StatusUnauthorized || !strings.Contains(p.Detail, c.fail) {
				t.Errorf("%s: %v; want %q", c.name, err, c.fail)
			}
			refused++
			if !strings.Contains(f.log.String(), c.fail) {
				t.Errorf("%s: log %q", c.name, f.log.String())
			}
			f.remote.refusals = loglimit.Minutely{} // so that the next one is logged, too
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		who, err := client.Get(t.Context(), store, v1.Whoami)
		store.Close()
		if err != nil || who.Name != c.want || who.Origin != "tcp:"+c.want || strings.Join(who.May, " ") != "ask report speak" {
			t.Errorf("%s: %+v, %v", c.name, who, err)
		}
	}
	desktest.WantMetric(t, f.remote.Collectors(), fmt.Sprintf(`spambloom_remote_refused_total{reason="name"} %d`, refused))
}

// What was read again counts for the next request, also of clients that are connected:
// one that was taken out is out, and one that was put in is in.
func TestRemoteReload(t *testing.T) {
	token, line, _ := credential.NewToken("store1")
	f := serveRemote(t, func(f *remoteServer) { f.tokensFile(t, line) })
	certificate := f.ca.client("store2", time.Time{})
	byToken, err := client.DialRemote(f.url(), client.Credentials{CA: f.ca.file, Token: token})
	testenv.Check(t, err)
	defer byToken.Close()
	byCertificate, err := client.DialRemote(f.url(), certificate)
	testenv.Check(t, err)
	defer byCertificate.Close()

	bad := f.options
	bad.Tokens = f.ca.file
	if err := f.remote.Reload(bad); err == nil {
		t.Fatal("a file that holds no tokens is taken")
	}
	for _, c := range []*client.Client{byToken, byCertificate} {
		if _, err := client.Get(t.Context(), c, v1.Whoami); err != nil {
			t.Errorf("after a reload that failed: %v", err)
		}
	}

	second := newAuthority(t)
	f.options.ClientsCA = second.file
	f.tokensFile(t)
	testenv.Check(t, f.remote.Reload(f.options))
	for name, c := range map[string]*client.Client{"token": byToken, "certificate": byCertificate} {
		var p *api.Problem
		if _, err := client.Get(t.Context(), c, v1.Whoami); !errors.As(err, &p) || p.Status != http.StatusUnauthorized {
			t.Errorf("%s that was taken out: %v", name, err)
		}
	}
	fresh := second.client("store3", time.Time{})
	fresh.CA = f.ca.file
	c, err := client.DialRemote(f.url(), fresh)
	testenv.Check(t, err)
	c.Close()
}

// A link to the page is of use for as long as the token or the certificate that asked for it is let in.
func TestRemoteLinkEnds(t *testing.T) {
	token, line, _ := credential.NewToken("store1")
	f := serveRemote(t, func(f *remoteServer) { f.tokensFile(t, line) })
	for _, with := range []client.Credentials{{CA: f.ca.file, Token: token}, f.ca.client("store2", time.Time{})} {
		c, err := client.DialRemote(f.url(), with)
		testenv.Check(t, err)
		_, err = client.Get(t.Context(), c, v1.Web)
		testenv.Check(t, err)
		c.Close()
	}
	hold := func(want bool) {
		t.Helper()
		for name, holds := range f.links {
			if holds() != want {
				t.Errorf("the link of %s holds: %v, want %v", name, !want, want)
			}
		}
	}
	testenv.Check(t, f.remote.Reload(f.options))
	hold(true)
	f.options.ClientsCA = newAuthority(t).file
	f.tokensFile(t)
	testenv.Check(t, f.remote.Reload(f.options))
	if hold(false); len(f.links) != 2 {
		t.Errorf("%d links", len(f.links))
	}
}

// A certificate of the daemon that has expired, or soon will, is said in its log.
func TestRemoteCertificateEnds(t *testing.T) {
	a := newAuthority(t)
	for _, c := range []struct {
		until time.Time
		want  string // "": nothing
	}{
		{time.Now().Add(-time.Hour), "has expired"},
		{time.Now().Add(24 * time.Hour), "expires soon"},
		{time.Now().Add(expirySoon + time.Hour), ""},
	} {
		var log logBuffer
		o := RemoteOptions{ClientsCA: a.file}
		o.Cert, o.Key = a.server(c.until)
		if _, err := NewRemote(o, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
			t.Fatal(err)
		}
		if text := log.String(); !strings.Contains(text, c.want) || c.want == "" && text != "" {
			t.Errorf("until %v: log %q; want %q", c.until, text, c.want)
		}
	}
}

// A mail store reports in the names of its users, and administrates nothing.
func TestRemoteReports(t *testing.T) {
	token, line, _ := credential.NewToken("store1")
	f := serveRemote(t, func(f *remoteServer) { f.tokensFile(t, line); f.options.ClientsCA = "" })
	c, err := client.DialRemote(f.url(), client.Credentials{CA: f.ca.file, Token: token})
	testenv.Check(t, err)
	defer c.Close()
	r := api.NewRequest(desktest.Set("body", "text"))
	r.Reporter = "anna@example.org"
	if receipt, err := client.Post(t.Context(), c, v1.Report, r); err != nil || receipt.Verdict != "spam" {
		t.Errorf("%+v, %v", receipt, err)
	}
	if log := f.log.String(); !strings.Contains(log, "reporter=anna@example.org class=other origin.client=store1 ") {
		t.Errorf("log %q", log)
	}
	var p *api.Problem
	if _, err := client.Post(t.Context(), c, v1.Mute, api.SiteRequest{Site: "mx2"}); !errors.As(err, &p) || p.Status != http.StatusForbidden || !strings.Contains(p.Detail, "store1 may not do this") {
		t.Errorf("mute: %v", err)
	}
	if log := f.log.String(); strings.Contains(log, token) {
		t.Errorf("the log has the token: %q", log)
	}
}

// What is wrong with the files is an error of the start that names the file.
func TestRemoteOptions(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.server(time.Time{})
	_, otherKey := a.server(time.Time{})
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(a.dir, name)
		testenv.Check(t, os.WriteFile(path, []byte(text), 0o600))
		testenv.Check(t, os.Chmod(path, mode))
		return path
	}
	token, line, _ := credential.NewToken("store1")
	_, longLine, _ := credential.NewToken(strings.Repeat("x", api.MaxReporter))
	for _, c := range []struct {
		o    RemoteOptions
		want string // "": good
	}{
		{RemoteOptions{Cert: cert, Key: key, Tokens: write("good", "\n# a comment\n "+line+" \n"+longLine, 0o600)}, ""},
		{RemoteOptions{Cert: cert, Key: key, ClientsCA: a.file}, ""},
		{RemoteOptions{Cert: cert, Key: key}, "nobody could prove a name"},
		{RemoteOptions{Cert: cert, Key: otherKey, ClientsCA: a.file}, "private key does not match"},
		{RemoteOptions{Cert: "none.crt", Key: key, ClientsCA: a.file}, "none.crt: no such file"},
		{RemoteOptions{Cert: cert, Key: key, ClientsCA: key}, key + ": holds no certificate"},
		{RemoteOptions{Cert: cert, Key: key, Tokens: "none"}, "none: no such file"},
		{RemoteOptions{Cert: cert, Key: key, Tokens: write("open", line, 0o640)}, "mode is 0640, must be 0600"},
		{RemoteOptions{Cert: cert, Key: key, Tokens: write("token", "# x\nstore1 "+token, 0o600)}, "token: line 2: holds a token"},
		{RemoteOptions{Cert: cert, Key: key, Tokens: write("short", "store1 token1:abcd", 0o600)}, "line 1: want token1: and 64 hex digits"},
		{RemoteOptions{Cert: cert, Key: key, Tokens: write("old", "store1 "+strings.Replace(strings.Fields(line)[1], "token1", "token2", 1), 0o600)}, "line 1: want token1:"},
		{RemoteOptions{Cert: cert, Key: key, Tokens: write("words", line+" more", 0o600)}, "line 1: want NAME token1:HEX"},
		{RemoteOptions{Cert: cert, Key: key, Tokens: write("twice", line+"\nstore2 "+strings.Fields(line)[1], 0o600)}, "line 2: the same token as on line 1"},
		{RemoteOptions{Cert: cert, Key: key, Tokens: write("colon", "uid:0 "+strings.Fields(line)[1], 0o600)}, "a name has no colon"},
		{RemoteOptions{Cert: cert, Key: key, Tokens: write("large", strings.Repeat("#\n", (1<<20)/2+1), 0o600)}, "larger than 1048576 bytes"},
	} {
		_, err := NewRemote(c.o, nil)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: %v; want %q", c.o, err, c.want)
		case err != nil && strings.Contains(err.Error(), token):
			t.Errorf("the error repeats the token: %v", err)
		}
	}
	if _, _, err := credential.NewToken("a b"); err == nil {
		t.Error("a token for a name that is none")
	}
}

// A daemon that cannot be trusted is not asked, and learns no token.
func TestDialRemote(t *testing.T) {
	const token = "spambloom1-secret"
	f := serveRemote(t, nil)
	old := serveRemote(t, func(f *remoteServer) { f.options.Cert, f.options.Key = f.ca.server(time.Now().Add(-time.Hour)) })
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	s := &http.Server{Handler: http.NotFoundHandler()}
	done := make(chan error)
	go func() { done <- s.Serve(plain) }()
	t.Cleanup(func() { s.Close(); <-done })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	gone.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	go func() {
		for conn, err := silent.Accept(); err == nil; conn, err = silent.Accept() {
			conn.Close()
		}
	}()
	t.Cleanup(func() { silent.Close() })
	for _, c := range []struct {
		name, spec string
		with       client.Credentials
		is         error // nil: none of those that a caller branches on
		want       string
	}{
		{"unknown CA", f.url(), client.Credentials{Token: token}, client.ErrUntrusted, "unknown authority"},
		{"expired certificate", old.url(), client.Credentials{CA: old.ca.file, Token: token}, client.ErrUntrusted, "expired"},
		{"another host", strings.Replace(f.url(), "127.0.0.1", "127.0.0.2", 1), client.Credentials{CA: f.ca.file, Token: token}, client.ErrUnavailable, "refused"},
		{"plain HTTP", "https://" + plain.Addr().String(), client.Credentials{CA: f.ca.file, Token: token}, client.ErrProtocol, "does not speak TLS"},
		{"nobody", "https://" + gone.Addr().String(), client.Credentials{CA: f.ca.file, Token: token}, client.ErrUnavailable, gone.Addr().String()},
		{"somebody who hangs up", "https://" + silent.Addr().String(), client.Credentials{CA: f.ca.file, Token: token}, client.ErrUnavailable, silent.Addr().String()},
		{"no such CA", f.url(), client.Credentials{CA: "none.pem"}, nil, "none.pem"},
		{"certificate without a key", f.url(), client.Credentials{Cert: f.ca.file}, nil, "go together"},
		{"certificate that is none", f.url(), client.Credentials{Cert: f.ca.file, Key: f.ca.file}, nil, "the client's certificate: "},
		{"token of two lines", f.url(), client.Credentials{CA: f.ca.file, Token: token + "\nx"}, nil, "a character that none has"},
		{"http", "http://" + f.address, client.Credentials{}, nil, "want https://HOST:PORT"},
		{"a path", f.url() + "/v1", client.Credentials{}, nil, "want https://HOST:PORT"},
		{"a password", "https://a:b@" + f.address, client.Credentials{}, nil, "want https://HOST:PORT"},
		{"no host", "https://:8897", client.Credentials{}, nil, "want https://HOST:PORT"},
	} {
		_, err := client.DialRemote(c.spec, c.with)
		if err == nil || !strings.Contains(err.Error(), c.want) || (c.is != nil && !errors.Is(err, c.is)) ||
			(c.is == nil && (errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrProtocol) || errors.Is(err, client.ErrUntrusted))) {
			t.Errorf("%s: %v; want %v, %q", c.name, err, c.is, c.want)
		}
		if err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("%s: the error repeats the token: %v", c.name, err)
		}
	}
	named, err := client.RemoteAddress("https://mx1.example.org/")
	if err != nil || named != "mx1.example.org:8897" {
		t.Errorf("without a port: %q, %v", named, err)
	}
}

// A client of plain HTTP receives an answer in plain HTTP that names TLS. Connections with another
// protocol, or an old TLS, are closed.
func TestRemotePlain(t *testing.T) {
	f := serveRemote(t, nil)
	answer, err := http.Post("http://"+f.address+"/v1/report", "application/json", strings.NewReader("{}"))
	testenv.Check(t, err)
	defer answer.Body.Close()
	var p api.Problem
	if err := json.NewDecoder(answer.Body).Decode(&p); err != nil || answer.StatusCode != 400 || p.Status != 400 || !strings.Contains(p.Detail, "speaks TLS") {
		t.Errorf("%s %+v %v", answer.Status, p, err)
	}
	http.DefaultClient.CloseIdleConnections()

	conn, err := net.Dial("tcp", f.address)
	testenv.Check(t, err)
	defer conn.Close()
	if _, err := io.WriteString(conn, "\x01\x02\x03\x04\x05 not TLS"); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(conn); len(rest) != 0 {
		t.Errorf("an answer to no language at all: %q, %v", rest, err)
	}

	if _, err := tls.Dial("tcp", f.address, &tls.Config{MaxVersion: tls.VersionTLS11, InsecureSkipVerify: true}); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
}

// A client that stops in the handshake, or in the header, is cut; one that stops in the
// body receives an answer that names it, and is cut.
func TestRemoteSlowClients(t *testing.T) { synctest.Test(t, remoteSlowClients) }

func remoteSlowClients(t *testing.T) {
	ln := newPipes()
	token, line, _ := credential.NewToken("store1")
	f := serveRemote(t, func(f *remoteServer) {
		f.tokensFile(t, line)
		f.ln = ln
	})
	silent := ln.connect(t)
	// The reads end only because the server gives the connection up.
	if rest, err := io.ReadAll(silent); err != nil || len(rest) > 0 {
		t.Errorf("in the handshake: %q, %v", rest, err)
	}
	authorities, err := credential.ReadAuthorities(f.ca.file)
	testenv.Check(t, err)
	config := &tls.Config{RootCAs: authorities, ServerName: "localhost"}
	for _, c := range []struct{ sent, want string }{
		{"POST /v1/check HTTP/1.1\r\nHost: x\r\n", ""},
		{"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Le", "HTTP/1.1 400 "}, // taken for a line
		{"POST /v1/check HTTP/1.1\r\nHost: x\r\nAuthorization: bearer  " + token + "\r\nContent-Length: 100\r\n\r\n{", "HTTP/1.1 408 "},
	} {
		conn := tls.Client(ln.connect(t), config)
		if _, err := io.WriteString(conn, c.sent); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(bufio.NewReader(conn))
		if !strings.HasPrefix(string(rest), c.want) || c.want == "" && len(rest) > 0 {
			t.Errorf("%.60q is answered %q", c.sent, rest)
		}
	}
}

// The connections of other machines are bounded, and those of one address are: it
// cannot keep others out.
func TestRemoteConnectionsAreLimited(t *testing.T) {
	f := serveRemote(t, nil)
	ln := make(crowd)
	limited, accepted := f.remote.Listen(ln), make(chan net.Conn, 2*maxRemote)
	go func() {
		defer close(accepted)
		for {
			conn, err := limited.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	come := func(host string) {
		_, served := net.Pipe()
		ln <- distant{served, host}
	}
	for range 2 * maxRemote {
		come("192.0.2.1")
	}
	come("192.0.2.2")
	var open []net.Conn
	for len(open) == 0 || secured.HostOf(open[len(open)-1].RemoteAddr()) != "192.0.2.2" {
		open = append(open, testenv.Receive(t, "a connection", accepted))
	}
	if len(open) != maxOfAddress+1 {
		t.Errorf("%d connections are open, want %d of one address and one", len(open), maxOfAddress)
	}
	if text, all := f.remote.Lockout(); all || !strings.Contains(text, "control.remote: connections of 192.0.2.1 are refused") {
		t.Errorf("lockout %q, of all: %v", text, all)
	}
	limited.Close()
	for range accepted {
	}
	for _, conn := range open {
		conn.Close()
	}
}

// TestOneClientKeepsFewPlaces is the attack "addresses of a client": a client with a token has requests at work
// from so many addresses that all places are taken. A connection of another machine takes one of them.
func TestOneClientKeepsFewPlaces(t *testing.T) {
	f := serveRemote(t, nil)
	admit := func(i int) *doorConn {
		_, served := net.Pipe()
		return f.remote.door.admit(distant{served, fmt.Sprintf("192.0.2.%d", i)})
	}
	kept := 0
	for i := range maxRemote {
		c := admit(i)
		if c.keep("store1"); !isIdle(c) {
			kept++
		}
	}
	if kept != maxOfAddress {
		t.Errorf("%d requests keep their places, want %d", kept, maxOfAddress)
	}
	other := admit(maxRemote)
	if other == nil || other.refusal != nil {
		t.Fatal("another machine is refused")
	}
	if other.keep("store2"); isIdle(other) {
		t.Error("the request of another client does not keep its place")
	}
}

// A network of IPv6 is one address: its owner has 2^64 of them. So are those of this machine, all of which any user has.
func TestHostOf(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:25": "192.0.2.1", "[::ffff:192.0.2.1]:25": "192.0.2.1",
		"127.0.0.1:25": "loopback", "127.9.8.7:25": "loopback", "[::1]:25": "loopback",
		"[2001:db8::1]:25": "2001:db8::/64", "[2001:db8:0:0:ffff::2]:25": "2001:db8::/64", "[2001:db8:0:1::1]:25": "2001:db8:0:1::/64",
	} {
		addr, err := net.ResolveTCPAddr("tcp", address)
		testenv.Check(t, err)
		if got := secured.HostOf(addr); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// distant is a connection from another machine.
type distant struct {
	net.Conn
	host string
}

func (d distant) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(d.host), Port: 1000} }
