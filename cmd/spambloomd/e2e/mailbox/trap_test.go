package mailbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Mail in a spam trap is reported: its next copy is spam. A second daemon with the same
// Maildir does not report it again. A reload changes how much of a mail is read.
func TestTrap(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "mx1", "", "")
	maildir := filepath.Join(s.Dir, "trap")
	for _, sub := range []string{"tmp", "new", "cur"} {
		testenv.Check(t, os.MkdirAll(filepath.Join(maildir, sub), 0o700))
	}
	file := filepath.Join(s.Dir, "spambloom.toml")
	settings, err := os.ReadFile(file)
	testenv.Check(t, err)
	harness.Write(t, file, string(settings)+fmt.Sprintf("[[trap]]\nname = \"lure\"\nmaildir = %q\nclass = \"phish\"\n", maildir))

	before, after := harness.Message(harness.Text()), harness.Message(harness.Text())
	harness.Write(t, filepath.Join(maildir, "new", "1.before"), before)
	harness.Write(t, filepath.Join(maildir, "new", "2.short"), harness.Message("hello"))
	harness.Write(t, filepath.Join(maildir, "new", "2.notes"), "no header\n\n"+harness.Text())
	s.Start()
	harness.Write(t, filepath.Join(maildir, "new", "3.after"), after)
	taken := func(n int) bool {
		_, metrics := s.Get("/metrics")
		return strings.Contains(metrics, fmt.Sprintf(`spambloom_trap_messages_total{result="taken",trap="lure"} %d`, n))
	}
	testenv.Eventually(t, "the mail is reported", func() bool { return taken(2) })
	for _, raw := range []string{before, after} {
		copied := harness.Write(t, filepath.Join(s.Dir, "copy.eml"), "Received: from elsewhere\r\n"+raw)
		if r := s.CLI("check", copied); r.Code != 0 || !strings.Contains(r.Stdout, "spam") {
			t.Errorf("a copy of trapped mail: %+v", r)
		}
	}
	if r := s.CLI("status", "--all"); !regexp.MustCompile(`(?m)^traps lure refused +2$`).MatchString(r.Stdout) || !regexp.MustCompile(`(?m)^traps lure taken +2$`).MatchString(r.Stdout) {
		t.Errorf("status: %+v", r)
	}
	if log := s.Log(); strings.Count(log, `"reporter":"trap:lure","class":"phish"`) != 2 || strings.Count(log, "trapped message not taken") != 2 {
		t.Error(log)
	}
	if code := s.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("stopped with %d", code)
	}

	s.Start()
	s.Configure(t, "[milter]", "[milter]\nmax_message = \"64KiB\"")
	s.Reload(t, `"msg":"reloaded"`)
	harness.Write(t, filepath.Join(maildir, "new", "4.long"), harness.Message(harness.Text(), strings.Repeat("X-Long: "+strings.Repeat("x", 500)+"\r\n", 280)+"X-End: yes"))
	harness.Write(t, filepath.Join(maildir, "new", "5.later"), harness.Message(harness.Text()))
	testenv.Eventually(t, "all mail is marked", func() bool {
		names, err := filepath.Glob(filepath.Join(maildir, "cur", "*:2,S"))
		return err == nil && len(names) == 6
	})
	if _, metrics := s.Get("/metrics"); !taken(1) || !strings.Contains(metrics, `spambloom_trap_messages_total{result="refused",trap="lure"} 1`) {
		t.Error("a mail with all text beyond twice the new max_message was reported, or the other was not")
	}
}

// The page on traps agrees with the programs.
func TestTrapGuide(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join(harness.Repository, "contrib/traps.md"))
	testenv.Check(t, err)
	blocks := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	for _, b := range blocks {
		if _, err := config.Load(harness.Write(t, filepath.Join(t.TempDir(), "guide.toml"), b[1])); err != nil {
			t.Error(err)
		}
	}
	if len(blocks) == 0 {
		t.Error("no configuration in the guide")
	}
	scripts := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	if len(scripts) == 0 {
		t.Error("no commands in the guide")
	}
	dir := filepath.Join(testenv.Dir(t), "trap")
	for _, script := range scripts {
		cmd := exec.Command("sh", "-eu", "-c", strings.NewReplacer("sudo ", "", "/var/mail/trap", dir, "-o spambloom -g spambloom ", "").Replace(script[1]))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s%v: %s", script[1], err, out)
		}
	}
	for _, sub := range []string{"tmp", "new", "cur"} {
		if info, err := os.Stat(filepath.Join(dir, sub)); err != nil || !info.IsDir() {
			t.Errorf("the guide's commands do not make %s: %v", sub, err)
		}
	}
}

// An interrupted archive prints where to continue, and each of its messages is reported
// once.
func TestArchiveInterrupted(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "mx1", "", "").Start()
	archive := filepath.Join(s.Dir, "archive.mbox")
	testenv.Check(t, syscall.Mkfifo(archive, 0o600))
	var raws []string
	for range 40 {
		raws = append(raws, "From x@example.net Thu Jan  1 00:00:00 2026\n"+strings.ReplaceAll(harness.Message(harness.Text()), "\r", "")+"\n")
	}
	args := []string{"report", "--yes", "--no-queue", "--as", "trap:archive", "--control", s.Control} // so it waits for a slow disk
	cmd := exec.Command(harness.Program(t, "spambloom"), append(args, archive)...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	testenv.Check(t, harness.StartChild(cmd))
	feed, err := os.OpenFile(archive, os.O_WRONLY, 0)
	testenv.Check(t, err)
	defer feed.Close()
	for i, raw := range raws {
		if i == 20 {
			testenv.Eventually(t, "some are reported", func() bool { return strings.Contains(s.Log(), "report accepted") })
			testenv.Check(t, cmd.Process.Signal(os.Interrupt))
		}
		// It ends while we write: the rest may have no reader.
		if _, err := feed.WriteString(raw); err != nil && i < 20 {
			t.Fatal(err)
		}
	}
	feed.Close()
	err = cmd.Wait()
	done := strings.Count(stdout.String(), ": accepted; ")
	hint := regexp.MustCompile(`(?m)^spambloom: hint: to resume there, run the same command with --skip (\d+)$`).FindStringSubmatch(stderr.String())
	if done == len(raws) {
		t.Skip("the signal came when all was done")
	}
	if cmd.ProcessState.ExitCode() != 130 || hint == nil || hint[1] != fmt.Sprint(done) {
		t.Fatalf("%v after %d messages: %s", err, done, stderr.String())
	}
	whole := harness.Write(t, filepath.Join(s.Dir, "whole.mbox"), strings.Join(raws, ""))
	if r := s.CLI("report", "--yes", "--no-queue", "--as", "trap:archive", "--skip", hint[1], whole); r.Code != 0 || strings.Count(r.Stdout, ": accepted; ") != len(raws)-done {
		t.Errorf("the rest after %d: %+v", done, r)
	}
	if n := strings.Count(s.Log(), `"msg":"report accepted"`); n != len(raws) {
		t.Errorf("%d reports of %d messages", n, len(raws))
	}
}
