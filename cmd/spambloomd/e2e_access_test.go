package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// as runs the command spambloom against this daemon, as another user and with an
// environment of its own.
func (s *site) as(user *syscall.Credential, env []string, args ...string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(s.t, "spambloom"), args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("%s: %v", cmd, err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// Members of the group report in their own name only, others not at all; who becomes a
// delegate speaks for others after a SIGHUP, and administrates nothing.
func TestOtherUsers(t *testing.T) {
	t.Parallel()
	need(t, os.Getuid() == 0, "root, to be other users")
	const group = 64999
	s := newSite(t, "one", filepath.Join(folder(t), "key"), "")
	s.control = "unix:" + filepath.Join(s.dir, "control.sock")
	s.configure(t, "[log]", fmt.Sprintf("[control]\nlisten = %q\ngroup = \"%d\"\n[log]", s.control, group))
	s.start()
	program(t, "spambloom")
	if err := os.Chmod(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	mail := write(t, filepath.Join(s.dir, "mail.eml"), message(text()))
	if err := os.Chmod(mail, 0o644); err != nil {
		t.Fatal(err)
	}
	member := &syscall.Credential{Uid: 64001, Gid: 64001, Groups: []uint32{group}}
	stranger := &syscall.Credential{Uid: 64002, Gid: 64002}
	env := []string{"SPAMBLOOM_CONTROL=" + s.control, "HOME=/nonexistent"}
	expect := func(user *syscall.Credential, code int, stderr string, args ...string) {
		t.Helper()
		if r := s.as(user, env, args...); r.code != code || !strings.Contains(r.stderr, stderr) {
			t.Errorf("%v as %d: %+v; want %d with %q", args, user.Uid, r, code, stderr)
		}
	}
	expect(member, 0, "", "report", mail)
	if !strings.Contains(s.log(), `"reporter":"uid:64001"`) {
		t.Errorf("the log lacks the reporter:\n%s", s.log())
	}
	expect(stranger, 77, "permission denied", "check", mail)
	// A socket with the mode that systemd gives it lets everybody in.
	if err := os.Chmod(strings.TrimPrefix(s.control, "unix:"), 0o666); err != nil {
		t.Fatal(err)
	}
	expect(stranger, 77, "uid:64002 may not use the control socket", "check", mail)
	expect(member, 77, "uid:64001 may not speak for anna", "report", "--as", "anna", mail)
	expect(member, 77, "only root and the daemon's user administrate", "never", mail)

	if _, metrics := s.get("/metrics"); !strings.Contains(metrics, "\nspambloom_reports_refused_total{action=\"report\",reason=\"not_allowed\"} 1\n") {
		t.Errorf("metrics lack the refused report:\n%s", metrics)
	}
	s.configure(t, "[control]", "[control]\ndelegates = [\"uid:64001\"]")
	s.reload(t, `"reloaded"`)
	expect(member, 0, "", "report", "--as", "anna", mail)
	expect(member, 77, "only root and the daemon's user administrate", "never", mail)
	if r := s.cli("never", mail); r.code != 0 {
		t.Errorf("root may not administrate: %+v", r)
	}
}

// borrowedCertificate writes a certificate of 127.0.0.1 that signs itself, and its key.
func borrowedCertificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	borrowed := httptest.NewTLSServer(http.NotFoundHandler())
	pair := borrowed.TLS.Certificates[0]
	borrowed.Close()
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return write(t, filepath.Join(dir, "remote.crt"), encode("CERTIFICATE", pair.Certificate[0])),
		write(t, filepath.Join(dir, "remote.key"), encode("PRIVATE KEY", der))
}

// A mail store on another machine reports with its token; once its line is taken out of
// the file, and the daemon told, it is out.
func TestMailStoreElsewhere(t *testing.T) {
	t.Parallel()
	s := newSite(t, "one", filepath.Join(folder(t), "key"), "")
	cert, key := borrowedCertificate(t, s.dir)
	token, line, ok := strings.Cut(execute(t, "", program(t, "spambloom"), "token", "store1").stdout, "\n# for the file of remote_tokens:\n")
	if !ok {
		t.Fatal("token prints something else")
	}
	_, token, _ = strings.Cut(token, "\n")
	tokens := write(t, filepath.Join(s.dir, "tokens"), line)
	s.configure(t, "[log]", fmt.Sprintf("[control]\nremote = \"127.0.0.1:0\"\nremote_cert = %q\nremote_key = %q\nremote_tokens = %q\n[log]", cert, key, tokens))
	s.start()
	address := s.readyField(t, "remote")
	mail := write(t, filepath.Join(s.dir, "mail.eml"), message(text()))
	far := func(code int, stderr string, args ...string) {
		t.Helper()
		env := []string{"SPAMBLOOM_CONTROL=https://" + address, "SPAMBLOOM_CA=" + cert, "SPAMBLOOM_TOKEN=" + token}
		if r := s.as(nil, env, args...); r.code != code || !strings.Contains(r.stderr, stderr) {
			t.Errorf("%v: %+v; want %d with %q", args, r, code, stderr)
		}
	}
	far(1, "", "check", mail)
	far(0, "", "report", "--as", "anna@example.org", mail)
	far(0, "", "check", mail)
	far(77, "store1 may not do this", "never", mail)
	if !strings.Contains(s.log(), `"reporter":"anna@example.org"`) || strings.Contains(s.log(), token) {
		t.Errorf("log:\n%s", s.log())
	}

	write(t, tokens, "store1 "+token+"\n")
	s.reload(t, "line 1: holds a token") // and what was read before stays
	far(0, "", "check", mail)
	write(t, tokens, "# nobody\n")
	s.reload(t, `"reloaded"`)
	far(77, "the token is none of those that are let in", "check", mail)
	if _, metrics := s.get("/metrics"); !strings.Contains(metrics, "\nspambloom_remote_refused_total{reason=\"name\"} 1\n") {
		t.Errorf("metrics lack the refused client:\n%s", metrics)
	}
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.log())
	}
}

// A socket for other machines that systemd hands over is not served before the
// configuration says whom to let in.
func TestRemoteSocketOfSystemd(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	_, handed := handOver(t, "tcp", "127.0.0.1:0")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, program(t, "spambloomd"), "--http", "", "--listen", "inet:0@127.0.0.1", "--data", filepath.Join(dir, "state"))
	cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "LISTEN_FDNAMES=remote")
	cmd.ExtraFiles = []*os.File{handed}
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 78 || !strings.Contains(string(out), "control.remote: is empty, but systemd hands over a socket named remote") {
		t.Errorf("exit code %d, want 78\n%s", code, out)
	}
}

// readyField is a text field of the line that says that the daemon is ready.
func (s *site) readyField(t *testing.T, name string) string {
	t.Helper()
	for line := range strings.Lines(s.log()) {
		if jsonField(t, line, "msg") == "ready" {
			return jsonField(t, line, name)
		}
	}
	t.Fatalf("no line says ready:\n%s", s.log())
	return ""
}

// What is wrong with [control] remote is said before the start.
func TestRemoteSettings(t *testing.T) {
	dir := folder(t)
	cert, key := borrowedCertificate(t, dir)
	tokens := write(t, filepath.Join(dir, "tokens"), "")
	for i, c := range []struct {
		text string
		code int
		want string
	}{
		{fmt.Sprintf("remote = \"127.0.0.1:8897\"\nremote_cert = %q\nremote_key = %q\nremote_tokens = %q\n", cert, key, tokens), 0, ""},
		{fmt.Sprintf("remote_cert = %q", "none"), 0, ""}, // of no matter: remote is empty
		{"remote = \"8897\"", 78, `:2: control.remote: address "8897": want HOST:PORT`},
		{"remote = \":8897\"", 78, "for all interfaces write 0.0.0.0"},
		{"remote = \"unix:/run/remote\"", 78, "want HOST:PORT"},
		{"remote = \"127.0.0.1:8897\"", 78, "default of control.remote_cert: is empty"},
		{fmt.Sprintf("remote = \"127.0.0.1:8897\"\nremote_cert = %q", cert), 78, "default of control.remote_key: is empty"},
		{fmt.Sprintf("remote = \"127.0.0.1:8897\"\nremote_cert = %q\nremote_key = %q", cert, key), 78, ":2: control.remote: needs control.remote_clients_ca or control.remote_tokens"},
		{fmt.Sprintf("remote = \"127.0.0.1:8897\"\nremote_cert = %q\nremote_key = %q\nremote_clients_ca = %q", cert, key, key), 78, "holds no certificate"},
		{fmt.Sprintf("remote = \"127.0.0.1:8897\"\nremote_cert = %q\nremote_key = %q\nremote_tokens = %q", key, cert, tokens), 78, ":2: control.remote: certificate and key"},
	} {
		path := write(t, filepath.Join(dir, fmt.Sprintf("%d.toml", i)), "[control]\n"+c.text+"\n")
		if r := start(t, "-t", "-c", path); r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: %+v; want %d with %q", c.text, r, c.code, c.want)
		}
	}
}
