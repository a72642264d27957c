package faults

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// A full disk: nothing is acknowledged, /readyz states the reason, and mail is judged and
// tagged as before. Once there is space, reports are accepted again and /readyz is ready,
// without a restart. No acknowledged report is ever lost.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "mx1", filepath.Join(testenv.Dir(t), "key"), "")
	state := filepath.Join(s.Dir, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("tmpfs", state, "tmpfs", 0, "size=64m,mode=700")
	testenv.Need(t, err == nil, "mounts of tmpfs")
	t.Cleanup(func() {
		s.Stop(syscall.SIGKILL)
		if err := syscall.Unmount(state, 0); err != nil {
			t.Error(err)
		}
	})
	daemon := s.Start().Client()
	var acknowledged []string
	report := func() error {
		body := harness.Text()
		_, err := client.Post(t.Context(), daemon, v1.Report, harness.Request(body))
		if err == nil {
			acknowledged = append(acknowledged, body)
		}
		return err
	}
	for range 20 {
		if err := report(); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 3 {
		filler := fill(t, state)
		refuse := func() {
			var refused error
			for i := 0; i < 2000 && refused == nil; i++ { // reserved space is used up first
				refused = report()
			}
			if refused == nil || !strings.Contains(refused.Error(), "no space left on device") {
				t.Fatalf("round %d: a report on a full disk: %v", round, refused)
			}
		}
		refuse()
		for _, body := range acknowledged {
			if v := harness.Verdict(t, daemon, harness.Request(body)); v != "spam" {
				t.Fatalf("round %d: while the disk is full, a reported message is %s", round, v)
			}
		}
		expectMail(s, t, acknowledged[len(acknowledged)-1], "spam")
		expectMail(s, t, harness.Text(), "clean")
		testenv.Eventually(t, "/readyz names the full disk", func() bool {
			refuse() // the daemon may have found some space by itself
			status, why := s.Get("/readyz")
			return status == 503 && strings.Contains(why, "no space left on device")
		})
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		if round == 1 { // without reports: the daemon notices the space by itself
			testenv.Eventually(t, "/readyz is ready", s.Ready)
		}
		testenv.Eventually(t, "reports are accepted again", func() bool { return report() == nil })
		testenv.Eventually(t, "/readyz is ready", s.Ready)
	}
	s.Stop(syscall.SIGKILL)
	daemon = s.Start().Client()
	for _, body := range acknowledged {
		if v := harness.Verdict(t, daemon, harness.Request(body)); v != "spam" {
			t.Errorf("after a kill -9, an acknowledged report is %s", v)
		}
	}
	t.Logf("%d reports were acknowledged around three full disks", len(acknowledged))
}

// fill uses all free space of a folder.
func fill(t *testing.T, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, block := range []int{1 << 20, 4 << 10, 1} {
		for err == nil {
			_, err = f.Write(make([]byte, block))
		}
		if !strings.Contains(err.Error(), "no space left") {
			t.Fatal(err)
		}
		err = nil
	}
	return path
}
