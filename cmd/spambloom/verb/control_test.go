package verb

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/client"
)

// A daemon run by hand is found in the current folder if it belongs to the user. One of
// another user is ignored.
func TestOthersDaemonIsNotAsked(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("STATE_DIRECTORY", "")
	testenv.Check(t, os.Mkdir("spambloom-data", 0o755))
	ln, err := net.Listen("unix", "spambloom-data/spambloom.sock")
	testenv.Check(t, err)
	defer ln.Close()
	daemon, err := (&CLI{}).DialTo("")
	testenv.Check(t, err)
	daemon.Close()
	testenv.Root(t)
	testenv.Check(t, os.Chown("spambloom-data", 65534, 65534))
	if daemon, err = (&CLI{}).DialTo(""); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("another user's daemon is asked: %v", err)
		daemon.Close()
	}
}

// A token or password in the place of an address or path is not shown: the error stands in the log of a mail
// server that runs the command.
func TestSecretIsNotShown(t *testing.T) {
	const address = "https://127.0.0.1:1"
	token := "spambloom1-" + strings.Repeat("A", 43)
	for _, c := range []struct{ spec, name, value, secret string }{
		{address, "SPAMBLOOM_TOKEN_FILE", token, token},
		{address, "SPAMBLOOM_CA", token, token},
		{address, "SPAMBLOOM_CERT", "./" + token, token},
		{address + "/" + token, "", "", token},
		{token, "", "", token},
		{"https://store1:pass-word@127.0.0.1:1", "", "", "pass-word"},
		{"HTTPS://store1:pass-word@127.0.0.1:1", "", "", "pass-word"},
		{"http://store1:pass-word@127.0.0.1:1", "", "", "pass-word"},
		{"store1:pass-word@127.0.0.1:1", "", "", "pass-word"},
	} {
		t.Run(c.name+c.spec[:5], func(t *testing.T) {
			for _, name := range []string{"SPAMBLOOM_TOKEN", "SPAMBLOOM_TOKEN_FILE", "SPAMBLOOM_CA", "SPAMBLOOM_CERT", "SPAMBLOOM_KEY"} {
				t.Setenv(name, "")
			}
			if c.name != "" {
				t.Setenv(c.name, c.value)
			}
			if _, err := (&CLI{}).DialTo(c.spec); err == nil || strings.Contains(err.Error(), c.secret) {
				t.Errorf("error %v", err)
			}
		})
	}
}
