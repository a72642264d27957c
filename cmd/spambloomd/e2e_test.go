package main

// The end-to-end tests run the real programs, built once with the race
// detector, against a real Postfix and a real Redis, in folders and on ports of
// their own. This file starts and stops them.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/reporting"
)

// patience bounds every wait of these tests. It is no assertion about speed: a
// loaded machine may be slow.
const patience = 30 * time.Second

// bin is the folder of the programs; the first test that needs it builds them.
var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "spambloom-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	bin = dir
	// The race detector makes a program wait a second at its end.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Setenv("SPAMBLOOM_QUEUE", filepath.Join(dir, "queue")) // not that of who runs the tests
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

var build = sync.OnceValue(func() error {
	cmd := exec.Command("go", "build", fmt.Sprintf("-race=%v", !figures), "-o", bin+"/", "./cmd/spambloomd", "./cmd/spambloom")
	cmd.Dir = repository
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
})

// repository is the folder in which a newcomer types commands.
const repository = "../.."

// program is the path of spambloomd or spambloom.
func program(t *testing.T, name string) string {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(bin, name)
}

// need skips a test that a machine cannot run, unless the whole run is wanted.
func need(t *testing.T, ok bool, what string) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("SPAMBLOOM_REQUIRE") == "all" {
		t.Fatal("missing: " + what)
	}
	t.Skip("missing: " + what)
}

// find is the path of a program, also where a user's PATH has no sbin.
func find(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	need(t, err == nil, name+" (apt-get install "+name+", or make test as root)")
	return path
}

// folder is like t.TempDir, but open to other users, such as Postfix' own, and
// with a path short enough for a unix socket.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// eventually asks until the answer is yes.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !ask() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// site is one spambloomd, running or about to.
type site struct {
	t       *testing.T
	dir     string // has spambloom.toml, state/ and the log
	name    string
	env     []string // beside that of the tests
	binary  string   // "": the daemon that all tests share
	cmd     *exec.Cmd
	ended   chan error
	milter  string // address, once it is ready
	http    string
	control string // spec of the control socket

	reporter *reporting.Client // see client
}

// small filters make a daemon that starts at once. No network is local, so that
// mail from the tests is judged.
const smallConfig = `
[site]
name = %q
federation_key = %q
[milter]
listen = ["inet:0@127.0.0.1"]
local_networks = []
[bulk]
capacity = 10_000
threshold = 50
[reports]
capacity = 100_000
[redis]
url = %q
[http]
listen = "127.0.0.1:0"
[log]
format = "json"
`

// newSite prepares a daemon that shares key with its federation.
func newSite(t *testing.T, name, key, redis string) *site {
	t.Helper()
	dir := folder(t)
	write(t, filepath.Join(dir, "spambloom.toml"), fmt.Sprintf(smallConfig, name, key, redis))
	return &site{t: t, dir: dir, name: name, control: "unix:" + filepath.Join(dir, "state", "spambloom.sock")}
}

// start runs the daemon and waits until it is ready.
func (s *site) start() *site {
	s.t.Helper()
	logFile, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer logFile.Close()
	before := len(s.log())
	s.cmd = exec.Command(cmp.Or(s.binary, program(s.t, "spambloomd")), "-c", filepath.Join(s.dir, "spambloom.toml"), "--data", filepath.Join(s.dir, "state"))
	s.cmd.Stderr, s.cmd.Env = logFile, append(os.Environ(), s.env...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan error, 1)
	go func() { s.ended <- s.cmd.Wait() }()
	s.t.Cleanup(func() { s.stop(syscall.SIGKILL) })
	eventually(s.t, "spambloomd is ready", func() bool { return s.readReady(s.log()[before:]) })
	return s
}

// readReady takes the addresses out of the line that says so.
func (s *site) readReady(log string) bool {
	for line := range strings.Lines(log) {
		var ready struct {
			Msg    string
			Milter []string
			HTTP   string
		}
		if json.Unmarshal([]byte(line), &ready) == nil && ready.Msg == "ready" {
			s.milter, s.http = ready.Milter[0], ready.HTTP
			return true
		}
		if _, text, ok := strings.Cut(line, "msg=ready milter=["); ok { // format = "text"
			s.milter, _, _ = strings.Cut(text, "]")
			return true
		}
	}
	select {
	case err := <-s.ended:
		s.ended <- err
		s.t.Fatalf("spambloomd ended at its start: %v\n%s", err, log)
	default:
	}
	return false
}

// noSignal only waits: a second SIGTERM would cut a stop short.
const noSignal = syscall.Signal(0)

// stop ends the daemon and returns its exit code, -1 for a signal. A second
// stop does nothing.
func (s *site) stop(signal syscall.Signal) int {
	s.t.Helper()
	if s.cmd == nil {
		return 0
	}
	_ = s.cmd.Process.Signal(signal) // it may have ended by itself
	select {
	case err := <-s.ended:
		s.cmd = nil
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			if exit.ExitCode() == 66 {
				s.t.Errorf("the race detector found something:\n%s", s.log())
			}
			return exit.ExitCode()
		}
		return 0
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.ended
		s.t.Fatalf("spambloomd does not stop:\n%s", s.log())
		return 0
	}
}

func (s *site) log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	return string(text)
}

// get asks the HTTP listener.
func (s *site) get(path string) (status int, body string) {
	s.t.Helper()
	return httpGet(s.t, "http://"+s.http+path)
}

func httpGet(t *testing.T, url string) (status int, body string) {
	t.Helper()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// cli runs the command spambloom against this daemon.
func (s *site) cli(args ...string) result {
	s.t.Helper()
	return execute(s.t, "", program(s.t, "spambloom"), append(args, "--control", s.control)...)
}

// result is how a program ended.
type result struct {
	code           int
	stdout, stderr string
}

// execute runs a program to its end, in dir unless that is empty.
func execute(t *testing.T, dir, name string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = patience // a process of it may hold its output
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", cmd, err)
	}
	if strings.Contains(stderr.String(), "DATA RACE") {
		t.Errorf("%s:\n%s", cmd, stderr.String())
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// words that differ from message to message, since digits do not count.
var words = strings.Fields(`apple basket candle dragon engine forest garden harbour
	island jacket kettle ladder mirror needle orange pepper quarry ribbon saddle
	tunnel umbrella valley window yellow zebra anchor bridge copper desert ember
	falcon glacier hammer indigo jungle kernel lantern meadow nectar orchid pebble
	quartz river silver thunder velvet walnut yonder zenith almond barrel`)

// text makes a paragraph of its own, long enough to be signed.
func text() string {
	var b strings.Builder
	for i := range 90 {
		b.WriteString(words[rand.IntN(len(words))])
		if i%9 == 8 {
			b.WriteString(".\r\n")
		} else {
			b.WriteString(" ")
		}
	}
	return b.String()
}

// message is a whole mail with body, headers of its own before the usual ones.
func message(body string, extra ...string) string {
	head := append(extra, "From: someone@example.net", "To: you@example.test", "Subject: a letter",
		fmt.Sprintf("Message-ID: <%x@example.net>", rand.Uint64()), "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8")
	return strings.Join(head, "\r\n") + "\r\n\r\n" + body
}

// freePort is a port on which nobody listens at this moment. It is not one of
// those that the kernel gives to others in the meantime.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			ln.Close()
			return port
		}
	}
	t.Fatal("no free port found")
	return 0
}

// jsonField is a text field of a line of the log, "" if it has none.
func jsonField(t *testing.T, line, name string) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	value, _ := fields[name].(string)
	return value
}
