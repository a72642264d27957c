package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/internal/queue"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
)

// messages writes n different messages into a folder.
func messages(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		text := fmt.Sprintf("Subject: offer\n\nOur warehouse in the harbour has three hundred winter tyres left over from last\nseason, which we sell by the pair before inspector number%d comes with his dog.\n", i)
		testenv.Check(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(text), 0o600))
	}
	return dir
}

// killed runs the command, kills it (SIGKILL) some time after it has printed so many
// lines, and returns all printed lines.
func killed(t *testing.T, printed int, after time.Duration, args ...string) (lines []string) {
	t.Helper()
	cmd := exec.Command("spambloom", args...)
	out, err := cmd.StdoutPipe()
	testenv.Check(t, err)
	testenv.Check(t, cmd.Start())
	for scanner := bufio.NewScanner(out); ; {
		if len(lines) == printed {
			defer time.AfterFunc(after, func() { _ = cmd.Process.Kill() }).Stop()
		}
		if !scanner.Scan() {
			break
		}
		lines = append(lines, scanner.Text())
	}
	_ = cmd.Wait() // killed, or ready before
	return lines
}

// Every report printed as queued survives kill -9. Queued reports are delivered although
// delivering processes are killed: once, and again only after a kill.
func TestKillLosesNothingQueued(t *testing.T) {
	usesProgram(t)
	random := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	const mails = 40
	dir := messages(t, mails)
	folder := filepath.Join(t.TempDir(), "queue")
	socket := filepath.Join(testenv.Dir(t), "s.sock")
	t.Setenv("SPAMBLOOM_QUEUE", folder)
	t.Setenv("SPAMBLOOM_CONTROL", "unix:"+socket)
	t.Setenv("GORACE", "atexit_sleep_ms=0")

	said, kills := map[string]int{}, testenv.Rounds(75)
	for i := range kills {
		who := fmt.Sprint("run", i)
		for _, line := range killed(t, 1+random.IntN(mails), time.Duration(random.IntN(20))*time.Millisecond, "report", "--yes", "--as", who, dir) {
			if !strings.Contains(line, ": queued; ") {
				t.Fatalf("%q", line)
			}
			said[who]++
		}
	}
	sum := 0
	for _, n := range said {
		sum += n
	}
	if sum == 0 {
		t.Fatal("nothing was queued before a kill")
	}
	waiting := waitingOf(t, folder)
	for who, n := range said {
		if len(waiting[who]) < n {
			t.Errorf("%s: %d said to be queued, %d there", who, n, len(waiting[who]))
		}
	}

	d := countReports(t, socket)
	for range kills {
		killed(t, 0, time.Duration(random.IntN(150))*time.Millisecond, "flush")
	}
	if out, err := exec.Command("spambloom", "flush").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	entries, again := 0, 0
	for who, ids := range waiting {
		for id := range ids {
			n := d.of(who, id)
			if n == 0 {
				t.Errorf("%s %s was never delivered", who, id)
			}
			entries, again = entries+1, again+n-1
		}
	}
	if again > kills {
		t.Errorf("%d deliveries again after %d kills", again, kills)
	}
	t.Logf("%d said to be queued, %d entries, %d delivered again", sum, entries, again)
	if left := waitingOf(t, folder); len(left) > 0 {
		t.Errorf("still waiting: %v", left)
	}
}

// waitingOf returns the queued messages by reporter.
func waitingOf(t *testing.T, folder string) map[string]map[string]bool {
	t.Helper()
	entries, err := queue.New(folder, queue.Options{}).List()
	testenv.Check(t, err)
	all := map[string]map[string]bool{}
	for _, e := range entries {
		who := e.Request.Reporter
		if all[who] == nil {
			all[who] = map[string]bool{}
		}
		all[who][e.Request.Signatures[0].Digest] = true
	}
	return all
}

// counter is a daemon that counts reports.
type counter struct {
	mu   sync.Mutex
	seen map[string]int
}

func (c *counter) of(who, id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[who+" "+id]
}

func countReports(t *testing.T, socket string) *counter {
	t.Helper()
	c := &counter{seen: map[string]int{}}
	ln, err := net.Listen("unix", socket)
	testenv.Check(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request api.Request
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		c.seen[request.Reporter+" "+request.Signatures[0].Digest]++
		c.mu.Unlock()
		fmt.Fprint(w, `{"ids":[]}`)
	})}
	done := make(chan struct{})
	go func() { _ = server.Serve(ln); close(done) }()
	t.Cleanup(func() { server.Close(); <-done })
	return c
}
