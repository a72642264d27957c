package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Errors in [control] remote are reported before the start.
func TestRemoteSettings(t *testing.T) {
	dir := testenv.Dir(t)
	cert, key := harness.BorrowedCertificate(t, dir)
	tokens := harness.Write(t, filepath.Join(dir, "tokens"), "")
	for i, c := range []struct {
		text string
		code int
		want string
	}{
		{fmt.Sprintf("remote = %q\nremote_cert = %q\nremote_key = %q\nremote_tokens = %q\n", testenv.Local(testenv.Port(t)), cert, key, tokens), 0, ""},
		{fmt.Sprintf("remote_cert = %q", "none"), 0, ""}, // ignored: remote is empty
		{"remote = \"8897\"", 78, `:2: control.remote: address "8897": want HOST:PORT`},
		{"remote = \":8897\"", 78, "for all interfaces write 0.0.0.0"},
		{"remote = \"unix:/run/remote\"", 78, "want HOST:PORT"},
		{"remote = \"127.0.0.1:8897\"", 78, "default of control.remote_cert: is empty"},
		{fmt.Sprintf("remote = \"127.0.0.1:8897\"\nremote_cert = %q", cert), 78, "default of control.remote_key: is empty"},
		{fmt.Sprintf("remote = \"127.0.0.1:8897\"\nremote_cert = %q\nremote_key = %q", cert, key), 78, ":2: control.remote: needs control.remote_clients_ca or control.remote_tokens"},
		{fmt.Sprintf("remote = \"127.0.0.1:8897\"\nremote_cert = %q\nremote_key = %q\nremote_clients_ca = %q", cert, key, key), 78, "holds no certificate"},
		{fmt.Sprintf("remote = \"127.0.0.1:8897\"\nremote_cert = %q\nremote_key = %q\nremote_tokens = %q", key, cert, tokens), 78, ":2: control.remote: certificate and key"},
	} {
		path := harness.Write(t, filepath.Join(dir, fmt.Sprintf("%d.toml", i)), "[control]\n"+c.text+"\n")
		if r := start(t, tested("-c", path)...); r.Code != c.code || !strings.Contains(r.Stderr, c.want) {
			t.Errorf("%s: %+v; want %d with %q", c.text, r, c.code, c.want)
		}
	}
}
