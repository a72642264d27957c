package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spambloom/spambloom/bloomdb/exchange/linkfault"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// connect opens a milter connection like a current MTA, up to HELO.
func connect(s *harness.Site, t *testing.T) *soakConn {
	t.Helper()
	c, err := dialSoak("tcp", s.Milter, soakOffers[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.play(soakGreeting("192.0.2.1"), func() {}); err != nil {
		t.Fatal(err)
	}
	return c
}

// mail sends a message on a connection.
func (c *soakConn) mail(t *testing.T, body string) soakAnswer {
	t.Helper()
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	a, err := c.play(new(soakPost).plain(r, body, "").steps(c.silent), func() {})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// expectMail checks the verdict of a message on a separate connection.
func expectMail(s *harness.Site, t *testing.T, body, want string) {
	t.Helper()
	c := connect(s, t)
	defer c.Close()
	if a := c.mail(t, body); a.verdict() != want {
		t.Errorf("mail is answered %+v, should be %s", a, want)
	}
}

// brokenDisk is a separate file system that the kernel makes read-only at its first error,
// like those of most servers.
func brokenDisk(t *testing.T, dir string) (breakIt, mend func()) {
	t.Helper()
	mkfs, mount, losetup := testenv.Program(t, "mkfs.ext4"), testenv.Program(t, "mount"), testenv.Program(t, "losetup")
	image := filepath.Join(testenv.Dir(t), "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 512<<20); err != nil {
		t.Fatal(err)
	}
	if r := harness.Execute(t, "", mkfs, "-q", "-F", image); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	attach := func() bool {
		return harness.Execute(t, "", mount, "-o", "loop,errors=remount-ro", image, dir).Code == 0
	}
	testenv.Need(t, os.Getuid() == 0 && attach(), "loop devices")
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }) // the test may have done it
	breakIt = func() {
		out, err := exec.CommandContext(t.Context(), testenv.Program(t, "findmnt"), "-no", "SOURCE", dir).Output()
		if err != nil {
			t.Fatal(err)
		}
		trigger := filepath.Join("/sys/fs/ext4", filepath.Base(strings.TrimSpace(string(out))), "trigger_fs_error")
		if err := os.WriteFile(trigger, []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
	}
	mend = func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Fatal(err)
		}
		// Another test's mount namespace may have a copy of the mount.
		testenv.Eventually(t, "the disk is unmounted everywhere", func() bool {
			r := harness.Execute(t, "", losetup, "-j", image)
			return r.Code == 0 && r.Stdout == ""
		})
		if r := harness.Execute(t, "", testenv.Program(t, "e2fsck"), "-fy", image); r.Code > 1 { // 1: it repaired something
			t.Fatalf("%+v", r)
		}
		if !attach() {
			t.Fatal("the disk is not mounted again")
		}
	}
	return breakIt, mend
}

// A disk that becomes read-only during operation, as after an error: mail is judged and
// tagged as before, reports and revocations are refused, and /readyz and the log state the
// reason. A start on it fails with an error. After the repair all acknowledged reports are
// listed.
func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "mx1", filepath.Join(testenv.Dir(t), "key"), "")
	state := filepath.Join(s.Dir, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	breakIt, mend := brokenDisk(t, state)
	daemon := s.Start().Client()
	reported, revoked := harness.Text(), harness.Text()
	for _, body := range []string{reported, revoked} {
		if _, err := client.Post(t.Context(), daemon, v1.Report, harness.Request(body)); err != nil {
			t.Fatal(err)
		}
	}
	conn := connect(s, t)
	breakIt()
	if _, err := client.Post(t.Context(), daemon, v1.Report, harness.Request(harness.Text())); err == nil || !strings.Contains(err.Error(), "read-only file system") {
		t.Errorf("a report on a read-only disk: %v", err)
	}
	if _, err := client.Post(t.Context(), daemon, v1.Revoke, harness.Request(revoked)); err == nil || !strings.Contains(err.Error(), "read-only file system") {
		t.Errorf("a revocation on a read-only disk: %v", err)
	}
	for body, want := range map[string]string{reported: "spam", revoked: "spam", harness.Text(): "clean"} {
		if a := conn.mail(t, body); a.verdict() != want {
			t.Errorf("mail on a read-only disk is answered %+v, should be %s", a, want)
		}
		expectMail(s, t, body, want)
	}
	if status, why := s.Get("/readyz"); status != 503 || !strings.Contains(why, "read-only file system") {
		t.Errorf("/readyz: %d %s", status, why)
	}
	if _, page := s.Get("/"); !strings.Contains(page, `class="state fault"`) || !strings.Contains(page, "Reports cannot be written: ") {
		t.Errorf("the page on a read-only disk:\n%s", page)
	}
	if r := s.CLI("status"); !strings.Contains(r.Stdout, "\n- Reports cannot be written: ") {
		t.Errorf("status on a read-only disk: %s", r.Stdout)
	}
	testenv.Eventually(t, "the log reports it", func() bool { return strings.Contains(s.Log(), `"state cannot be written"`) })
	if code := s.Stop(syscall.SIGTERM); code != 74 {
		t.Errorf("a stop that cannot write its state has exit code %d, should be 74\n%s", code, s.Log())
	}
	if r := harness.Execute(t, "", harness.Program(t, "spambloomd"), "-c", filepath.Join(s.Dir, "spambloom.toml"), "--data", state); r.Code == 0 ||
		!strings.Contains(r.Stderr, "read-only file system") || !strings.Contains(r.Stderr, state) {
		t.Errorf("a start on a read-only disk: %+v", r)
	}
	mend()
	s.Start()
	for body, want := range map[string]string{reported: "spam", revoked: "spam"} {
		expectMail(s, t, body, want)
	}
	if !s.Ready() {
		t.Error("/readyz is not ready after the repair")
	}
}

// A disk that hangs: large mail without room in memory is answered while the disk hangs, although it would be in
// temporary files. When the disk answers again, such mail is judged as a whole.
func TestHangingDisk(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "mx1", filepath.Join(testenv.Dir(t), "key"), "")
	s.Configure(t, "judge_timeout = \"5m\"", "judge_timeout = \"2s\"\nmax_memory = \"2MiB\"\nmax_message = \"1300KiB\"")
	state := filepath.Join(s.Dir, "state")
	testenv.Check(t, os.Mkdir(state, 0o700))
	brokenDisk(t, state)
	s.Start()
	known := harness.Text() + strings.Repeat("Line after line of a long letter.\r\n", 30_000)
	if _, err := client.Post(t.Context(), s.Client(), v1.Report, harness.Request(known)); err != nil {
		t.Fatal(err)
	}
	program := testenv.Program(t, "fsfreeze")
	disk := func(how string) error { return exec.Command(program, how, state).Run() }
	conns, long := []*soakConn{connect(s, t), connect(s, t), connect(s, t)}, connect(s, t)
	mail := new(soakPost).plain(rand.New(rand.NewPCG(1, 1)), known, "").steps(long.silent)
	if _, err := long.play(mail[:len(mail)-1], func() {}); err != nil { // it takes the memory
		t.Fatal(err)
	}
	testenv.Need(t, disk("--freeze") == nil, "file systems that freeze")
	t.Cleanup(func() { _ = disk("--unfreeze") }) // the test may have done it
	for _, c := range conns {
		t.Logf("a large mail on a disk that hangs: %s", c.mail(t, known).verdict())
	}
	testenv.Check(t, disk("--unfreeze"))
	testenv.Eventually(t, "large mail is spam", func() bool { return conns[0].mail(t, known).verdict() == "spam" })
	if _, metrics := s.Get("/metrics"); !strings.Contains(metrics, "\nspambloom_milter_spilled_total ") || strings.Contains(metrics, "\nspambloom_milter_spilled_total 0\n") {
		t.Error("no mail was in a temporary file")
	}
}

// A Redis that is down or does not answer costs no mail and no time: judging does not wait
// for it. The figures are logged; the limit is that of all tests.
func TestRedisAwayCostsMailNothing(t *testing.T) {
	t.Parallel()
	redis := harness.StartRedis(t)
	link, err := linkfault.Start("tcp", fmt.Sprintf("127.0.0.1:%d", redis.Port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "redis://"+link.Addr()).Start()
	conn, known := connect(s, t), harness.Text()
	if _, err := client.Post(t.Context(), s.Client(), v1.Report, harness.Request(known)); err != nil {
		t.Fatal(err)
	}
	measure := func(when string) {
		var took []time.Duration
		for range 100 {
			begin := time.Now()
			if a := conn.mail(t, harness.Text()); a.verdict() != "clean" {
				t.Errorf("%s: %+v", when, a)
			}
			took = append(took, time.Since(begin))
		}
		if a := conn.mail(t, known); a.verdict() != "spam" {
			t.Errorf("%s: a reported message is %+v", when, a)
		}
		if _, err := client.Post(t.Context(), s.Client(), v1.Report, harness.Request(harness.Text())); err != nil {
			t.Errorf("%s: a report: %v", when, err)
		}
		if !s.Ready() {
			t.Errorf("%s: /readyz is not ready", when)
		}
		slices.Sort(took)
		t.Logf("%s: a mail takes %v, at most %v", when, took[len(took)/2].Round(10*time.Microsecond), took[len(took)-1].Round(10*time.Microsecond))
	}
	measure("with Redis")
	link.Set(linkfault.Fault{Stall: true})
	measure("while Redis is silent")
	link.Set(linkfault.Fault{})
	redis.Kill()
	measure("while Redis is gone")
	redis.Start()
	measure("with Redis again")
}

// limitDescriptors sets how many descriptors a process may have, and returns how many it
// has.
func limitDescriptors(s *harness.Site, t *testing.T, more uint64) (before int) {
	t.Helper()
	pid := s.Cmd.Process.Pid
	before = len(descriptors(t, pid))
	limit := &unix.Rlimit{Cur: uint64(before) + more, Max: uint64(before) + more}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, limit, nil); err != nil {
		t.Fatal(err)
	}
	return before
}

// Running out of descriptors ends nothing: open connections are served and reports
// accepted. Waiting connections are served on every socket once descriptors are free. A
// reload that cannot open its file changes nothing.
func TestDescriptorsRunOut(t *testing.T) {
	t.Parallel()
	testenv.Root(t)
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "").Start()
	daemon, known := s.Client(), harness.Text()
	if _, err := client.Post(t.Context(), daemon, v1.Report, harness.Request(known)); err != nil { // its connection stays open
		t.Fatal(err)
	}
	before := quiet(s)
	conn := connect(s, t)
	if _, err := client.Post(t.Context(), daemon, v1.Check, harness.Request(known)); err != nil {
		t.Fatal(err)
	}
	limitDescriptors(s, t, 4)
	control := strings.TrimPrefix(s.Control, "unix:")
	for _, to := range [][2]string{{"tcp", s.Milter}, {"tcp", s.HTTP}, {"unix", control}} {
		var waiting []net.Conn
		for range 30 { // the kernel accepts them; the daemon cannot
			nc, err := net.DialTimeout(to[0], to[1], testenv.Patience)
			if err != nil {
				t.Fatal(err)
			}
			waiting = append(waiting, nc)
		}
		if to[1] == s.Milter {
			testenv.Eventually(t, "the log reports it", func() bool { return strings.Contains(s.Log(), "too many open files") })
		}
		expectService(s, t, conn, known)
		for _, nc := range waiting {
			nc.Close()
		}
		expectMail(s, t, known, "spam")
		testenv.Eventually(t, "/readyz is ready", s.Ready)
	}
	if code := s.CLI("check", harness.Write(t, filepath.Join(s.Dir, "mail.eml"), harness.Message(known))).Code; code != 0 {
		t.Errorf("check of a reported message: exit code %d", code)
	}
	conn.Close()
	expectNoMore(s, before)
	if code := s.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.Log())
	}
	s.Start()
	expectMail(s, t, known, "spam")
}

// expectService checks that open connections are served with no descriptor free.
func expectService(s *harness.Site, t *testing.T, conn *soakConn, known string) {
	t.Helper()
	if a := conn.mail(t, known); a.verdict() != "spam" {
		t.Errorf("an open connection: %+v", a)
	}
	body := harness.Text()
	if _, err := client.Post(t.Context(), s.Client(), v1.Report, harness.Request(body)); err != nil {
		t.Errorf("a report: %v", err)
	} else if a := conn.mail(t, body); a.verdict() != "spam" {
		t.Errorf("an acknowledged report is answered %+v", a)
	}
	s.Reload(t, "too many open files")
	if err := s.Cmd.Process.Signal(syscall.Signal(0)); errors.Is(err, os.ErrProcessDone) {
		t.Fatalf("the daemon ended:\n%s", s.Log())
	}
}
