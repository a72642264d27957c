package doors

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// amavisConf delivers all mail to one folder. The lines of the guide are inserted.
const amavisConf = `use strict;
$daemon_user = $daemon_group = 'amavis';
$myhostname = 'mx.example.org';
$MYHOME = $helpers_home = '%[1]s/home';
$TEMPBASE = '%[1]s/home';
$pid_file = '%[1]s/home/pid';
$lock_file = '%[1]s/home/lock';
$enable_db = 0;
$do_syslog = 0;
$log_level = 3;
$max_servers = 1;
$inet_socket_port = %[2]d;
@inet_acl = qw(127.0.0.1);
@local_domains_maps = (1);
@bypass_virus_checks_maps = (1);
$bypass_decode_parts = 1;
$enable_dkim_verification = 0;
$sa_mail_body_size_limit = 200*1024; # Debian's
$sa_tag_level_deflt = -999;
$sa_tag2_level_deflt = 5;
$sa_kill_level_deflt = 999;
$notify_method = $forward_method = 'pipe:flags=q argv=%[1]s/deliver';
%[3]s
1;
`

// startAmavis runs Debian's Amavis with the guide's lines. Its client always connects to port
// 783, which belongs to the machine: a copy of it connects to another port.
func startAmavis(t *testing.T, spamd int) *server {
	t.Helper()
	testenv.Root(t)
	program := testenv.Program(t, "amavisd")
	dir, port := testenv.Dir(t), testenv.Port(t)
	const client = "Amavis/SpamControl/SpamdClient.pm"
	for _, name := range []string{"lib/Amavis/SpamControl", "home", "mail"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("/usr/share/perl5/" + client)
	if err != nil {
		t.Fatal(err)
	}
	to := ":" + strconv.Itoa(spamd) + "'"
	lines := harness.PageBlock(t, "spamd.md", "use Amavis::IO::RW;")
	alone := strings.Replace(lines, "  ['SpamAssassin', 'Amavis::SpamControl::SpamAssassin', mail_body_size_limit => 200*1024],\n", "", 1)
	for path, text := range map[string]string{
		"lib/" + client: strings.NewReplacer(":783'", to).Replace(string(text)),
		"conf":          fmt.Sprintf(amavisConf, dir, port, alone),
		"deliver":       "#!/bin/sh\nf=$(mktemp " + dir + "/home/XXXXXX) && cat >$f && mv $f " + dir + "/mail/\n",
	} {
		if err := os.Chmod(harness.Write(t, filepath.Join(dir, path), text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("chown", "amavis:", filepath.Join(dir, "home"), filepath.Join(dir, "mail")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return startServer(t, exec.Command("perl", "-T", "-I", filepath.Join(dir, "lib"), program, "-c", filepath.Join(dir, "conf"), "foreground"), dir, port, "mail/*")
}

// The guide's lines for Amavis: the first mail of a process is asked about, too, a long header hides
// no text, and mail passes without the daemon.
func TestAmavis(t *testing.T) {
	d := startDoor(t, "")
	s := startAmavis(t, d.port)
	spam, other := d.reported(t, harness.Message(harness.Text())), harness.Message(harness.Text())
	expect := func(what, text, flag, tests string) {
		t.Helper()
		if err := s.send(text); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		m := s.delivered()
		if status := m.Header.Get("X-Spam-Status"); m.Header.Get("X-Spam-Flag") != flag || !strings.Contains(status, "tests=["+tests) {
			t.Errorf("%s: %q", what, m.Header)
		}
	}
	expect("spam", spam, "YES", "SPAMBLOOM_")
	expect("spam below a long header", strings.Repeat("X-Pad: "+strings.Repeat("a", 900)+"\r\n", 250)+spam, "YES", "SPAMBLOOM_")
	expect("other mail", other, "NO", "]")
	d.Stop(syscall.SIGTERM)
	expect("spam without a daemon", spam, "NO", "]")
}
