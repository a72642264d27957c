package doors

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// openSMTPDStart runs OpenSMTPD where its fixed paths and its users are its own: $0 is its
// folder, and $1 is where its package is unpacked.
const openSMTPDStart = `
mount --bind "$0/passwd" /etc/passwd
mount --bind "$0/group" /etc/group
for folder in /run /var/lib /var/spool /usr/libexec; do mount --bind "$0/$folder" $folder; done
exec "$1/usr/sbin/smtpd" -d -v -f "$0/conf"
`

// startOpenSMTPD runs a real OpenSMTPD with the guide's lines, unpacked by make test.
func startOpenSMTPD(t *testing.T, socket string) *server {
	t.Helper()
	testenv.Root(t)
	unpacked := testenv.Unpacked("opensmtpd")
	_, err := os.Stat(filepath.Join(unpacked, "usr/sbin/smtpd"))
	testenv.Need(t, err == nil, "opensmtpd")
	testenv.Program(t, "spamc")
	dir, port := testenv.Dir(t), testenv.Port(t)
	for _, name := range []string{"run", "var/lib/opensmtpd/empty", "var/spool/smtpd", "usr", "mail"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o711); err != nil {
			t.Fatal(err)
		}
	}
	err = errors.Join(os.CopyFS(filepath.Join(dir, "usr/libexec"), os.DirFS(filepath.Join(unpacked, "usr/libexec"))),
		os.Chown(filepath.Join(dir, "mail"), harness.UserID(t, "nobody"), 0))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.NewReplacer("/run/spambloom/spamd.sock", socket, "~/Maildir", dir+"/mail").Replace(harness.PageBlock(t, "spamd.md", "mda wrapper"))
	own := map[string]string{
		"/etc/passwd": "opensmtpd:x:2981:2981::/var/lib/opensmtpd/empty:/usr/sbin/nologin\nopensmtpq:x:2982:2982::/var/lib/opensmtpd/empty:/usr/sbin/nologin\n",
		"/etc/group":  "opensmtpd:x:2981:\nopensmtpq:x:2982:\n",
	}
	for path, more := range own {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(harness.Write(t, filepath.Join(dir, filepath.Base(path)), string(text)+more), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	harness.Write(t, filepath.Join(dir, "conf"), fmt.Sprintf("listen on 127.0.0.1 port %d\n%smatch from any for any action \"deliver\"\n", port, lines))
	return startServer(t, exec.Command(testenv.Program(t, "unshare"), "--mount", "sh", "-ec", openSMTPDStart, dir, unpacked), dir, port, "mail/new/*")
}

// The guide's lines for OpenSMTPD: spam has the flag, other mail has the verdict, and mail is
// delivered without the daemon.
func TestOpenSMTPD(t *testing.T) {
	d := startDoor(t, "")
	s := startOpenSMTPD(t, d.socket)
	spam, other := d.reported(t, harness.Message(harness.Text())), harness.Message(harness.Text())
	expect := func(what, text, flag, verdict string) {
		t.Helper()
		if err := s.send(text); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		m := s.delivered()
		if got := m.Header.Get("X-Spambloom"); m.Header.Get("X-Spam-Flag") != flag || !strings.HasPrefix(got, verdict) || verdict == "" && got != "" {
			t.Errorf("%s: %q", what, m.Header)
		}
	}
	expect("spam", spam, "YES", "spam; ")
	expect("other mail", other, "", "clean; ")
	d.Stop(syscall.SIGTERM)
	expect("spam without a daemon", spam, "", "")
}
