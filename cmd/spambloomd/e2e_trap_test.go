package main

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
)

// Mail that comes into a spam trap is reported: its next copy is spam. A second daemon
// with the same Maildir reports none of it again. A reload bounds what is read of a mail.
func TestTrap(t *testing.T) {
	t.Parallel()
	s := newSite(t, "mx1", "", "")
	maildir := filepath.Join(s.dir, "trap")
	for _, sub := range []string{"tmp", "new", "cur"} {
		if err := os.MkdirAll(filepath.Join(maildir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(s.dir, "spambloom.toml")
	settings, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(settings)+fmt.Sprintf("[[trap]]\nname = \"lure\"\nmaildir = %q\nclass = \"phish\"\n", maildir))

	before, after := message(text()), message(text())
	write(t, filepath.Join(maildir, "new", "1.before"), before)
	write(t, filepath.Join(maildir, "new", "2.short"), message("hello"))
	s.start()
	write(t, filepath.Join(maildir, "new", "3.after"), after)
	taken := func(n int) bool {
		_, metrics := s.get("/metrics")
		return strings.Contains(metrics, fmt.Sprintf(`spambloom_trap_messages_total{result="taken",trap="lure"} %d`, n))
	}
	eventually(t, "the mail is reported", func() bool { return taken(2) })
	for _, raw := range []string{before, after} {
		copied := write(t, filepath.Join(s.dir, "copy.eml"), "Received: from elsewhere\r\n"+raw)
		if r := s.cli("check", copied); r.code != 0 || !strings.Contains(r.stdout, "spam") {
			t.Errorf("a copy of trapped mail: %+v", r)
		}
	}
	if r := s.cli("status"); !regexp.MustCompile(`(?m)^traps lure refused +1$`).MatchString(r.stdout) || !regexp.MustCompile(`(?m)^traps lure taken +2$`).MatchString(r.stdout) {
		t.Errorf("status: %+v", r)
	}
	if log := s.log(); strings.Count(log, `"reporter":"trap:lure","class":"phish"`) != 2 || strings.Count(log, "trapped message not taken") != 1 {
		t.Error(log)
	}
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("stopped with %d", code)
	}

	s.start()
	s.configure(t, "[milter]", "[milter]\nmax_message = \"64KiB\"")
	s.reload(t, `"msg":"reloaded"`)
	write(t, filepath.Join(maildir, "new", "4.long"), message(text(), strings.Repeat("X-Long: "+strings.Repeat("x", 500)+"\r\n", 140)+"X-End: yes"))
	write(t, filepath.Join(maildir, "new", "5.later"), message(text()))
	eventually(t, "all mail is marked", func() bool {
		names, err := filepath.Glob(filepath.Join(maildir, "cur", "*:2,S"))
		return err == nil && len(names) == 5
	})
	if _, metrics := s.get("/metrics"); !taken(1) || !strings.Contains(metrics, `spambloom_trap_messages_total{result="refused",trap="lure"} 1`) {
		t.Error("a mail is reported of which all text is behind the new max_message, or the other is not")
	}
}

// What the page on traps says is what the programs take.
func TestTrapGuide(t *testing.T) {
	guide, err := os.ReadFile("../../contrib/traps.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	for _, b := range blocks {
		if _, err := config.Load(write(t, filepath.Join(t.TempDir(), "guide.toml"), b[1])); err != nil {
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
	dir := filepath.Join(folder(t), "trap")
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

// An archive that is interrupted says where to go on, and each of its messages is
// reported once.
func TestArchiveInterrupted(t *testing.T) {
	t.Parallel()
	s := newSite(t, "mx1", "", "").start()
	archive := filepath.Join(s.dir, "archive.mbox")
	if err := syscall.Mkfifo(archive, 0o600); err != nil {
		t.Fatal(err)
	}
	var raws []string
	for range 40 {
		raws = append(raws, "From x@example.net Thu Jan  1 00:00:00 2026\n"+strings.ReplaceAll(message(text()), "\r", "")+"\n")
	}
	args := []string{"report", "--no-queue", "--as", "trap:archive", "--control", s.control} // so it waits for a slow disk
	cmd := exec.Command(program(t, "spambloom"), append(args, archive)...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	feed, err := os.OpenFile(archive, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	for i, raw := range raws {
		if i == 20 {
			eventually(t, "some are reported", func() bool { return strings.Contains(s.log(), "report accepted") })
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
		// It ends while we write: the rest may be for nobody.
		if _, err := feed.WriteString(raw); err != nil && i < 20 {
			t.Fatal(err)
		}
	}
	feed.Close()
	err = cmd.Wait()
	done := strings.Count(stdout.String(), ": accepted; ")
	hint := regexp.MustCompile(`(?m)^spambloom: hint: the same command with --skip (\d+) goes on there$`).FindStringSubmatch(stderr.String())
	if done == len(raws) {
		t.Skip("the signal came when all was done")
	}
	if cmd.ProcessState.ExitCode() != 130 || hint == nil || hint[1] != fmt.Sprint(done) {
		t.Fatalf("%v after %d messages: %s", err, done, stderr.String())
	}
	whole := write(t, filepath.Join(s.dir, "whole.mbox"), strings.Join(raws, ""))
	if r := s.cli("report", "--no-queue", "--as", "trap:archive", "--skip", hint[1], whole); r.code != 0 || strings.Count(r.stdout, ": accepted; ") != len(raws)-done {
		t.Errorf("the rest after %d: %+v", done, r)
	}
	if n := strings.Count(s.log(), `"msg":"report accepted"`); n != len(raws) {
		t.Errorf("%d reports of %d messages", n, len(raws))
	}
}
