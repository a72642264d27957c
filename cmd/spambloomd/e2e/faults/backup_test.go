package faults

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
)

// killedAfter runs a program and kills it (SIGKILL) after a time. It returns the exit code,
// -1 if it was killed, and how long it took.
func killedAfter(t *testing.T, after time.Duration, name string, args ...string) (code int, took time.Duration, out string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	begun := time.Now()
	if err := harness.StartChild(cmd); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(after, func() { _ = cmd.Process.Kill() }).Stop()
	_ = cmd.Wait() // killed, or finished before
	return cmd.ProcessState.ExitCode(), time.Since(begun), output.String()
}

// killTrial is a site that is backed up and restored while programs are killed.
type killTrial struct {
	*testing.T
	site   *harness.Site
	random *rand.Rand
	file   string // the backup
	rounds int

	acknowledged []api.Request
	saved        int // number of these that the last complete backup contains at least
}

// If its command or the daemon is killed during a backup, the previous file or a complete
// new one remains. A killed restore leaves either nothing that a daemon starts with, or
// everything.
func TestKillDuringBackup(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "").Start()
	k := &killTrial{
		T: t, site: s, random: rand.New(rand.NewPCG(testenv.Seed(t), 0)),
		file: filepath.Join(testenv.Dir(t), "site.tar"), rounds: testenv.Rounds(24),
	}
	k.report(20)
	spambloom := harness.Program(t, "spambloom")
	code, took, out := killedAfter(t, testenv.Patience, spambloom, "backup", k.file, "--control", s.Control)
	if code != 0 {
		t.Fatalf("%d\n%s", code, out)
	}
	k.saved = len(k.acknowledged)
	outcomes := map[string]int{}
	for round := range k.rounds {
		k.report(3)
		before, whole := len(k.acknowledged), false
		after := time.Duration(k.random.Int64N(int64(took)))
		if round%2 == 0 {
			code, _, _ := killedAfter(t, after, spambloom, "backup", k.file, "--control", s.Control)
			whole = code == 0
		} else {
			whole = k.killDaemon(after, spambloom)
		}
		if whole {
			k.saved = before
			outcomes["backups written"]++
		}
		outcomes[k.restore()]++
	}
	t.Logf("%d rounds, %v, %d reports", k.rounds, outcomes, len(k.acknowledged))
	harness.ExpectListed(t, s, k.acknowledged)
}

func (k *killTrial) report(n int) {
	k.Helper()
	for range n {
		r := harness.Request(harness.Text())
		k.site.MustReport(k, r)
		k.acknowledged = append(k.acknowledged, r)
	}
}

// killDaemon kills the daemon while a backup is written, and restarts it. It reports
// whether the backup was written.
func (k *killTrial) killDaemon(after time.Duration, spambloom string) bool {
	k.Helper()
	var killing sync.WaitGroup
	killing.Go(func() {
		time.Sleep(after) // a random moment: nothing waits for it
		_ = k.site.Cmd.Process.Kill()
	})
	code, _, _ := killedAfter(k.T, testenv.Patience, spambloom, "backup", k.file, "--control", k.site.Control)
	killing.Wait()
	k.site.Stop(syscall.SIGKILL)
	k.site.Start()
	return code == 0
}

// restore restores the backup on another machine, is killed, continues like an
// administrator, and checks the result. It returns the outcome of the kill.
func (k *killTrial) restore() (outcome string) {
	k.Helper()
	to := harness.NewSite(k.T, "one", filepath.Join(k.site.Dir, "..", "none"), "")
	key, err := os.ReadFile(filepath.Join(k.site.Dir, "spambloom.toml"))
	if err != nil {
		k.Fatal(err)
	}
	harness.Write(k, filepath.Join(to.Dir, "spambloom.toml"), string(key)) // with the key of the site
	state := filepath.Join(to.Dir, "state")
	program := harness.Program(k, "spambloomd")
	args := []string{"-c", filepath.Join(to.Dir, "spambloom.toml"), "--data", state, "--restore", k.file}
	killedAfter(k.T, time.Duration(k.random.Int64N(int64(150*time.Millisecond))), program, args...)

	exists := func(name string) bool { _, err := os.Lstat(filepath.Join(state, name)); return err == nil }
	code, _, out := killedAfter(k.T, testenv.Patience, program, args...)
	switch {
	case code == 0:
		outcome = "restores that had to be run again"
	case code == 73 && (exists("restored") || exists("identity")):
		outcome = "restores that were whole"
	default:
		k.Fatalf("the restore ends with %d after a kill\n%s", code, out)
	}
	to.Start()
	harness.ExpectListed(k, to, k.acknowledged[:k.saved])
	if code := to.Stop(syscall.SIGTERM); code != 0 {
		k.Errorf("stopped with %d\n%s", code, to.Log())
	}
	return outcome
}
