package harness

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/client"
)

// Site is one spambloomd, running or not started yet.
type Site struct {
	T       testing.TB
	Dir     string // contains spambloom.toml, state/ and the log
	Name    string
	Env     []string // in addition to that of the tests
	Binary  string   // "": the daemon shared by all tests
	Cmd     *exec.Cmd
	Ended   chan error
	Milter  string // address, known once it is ready
	HTTP    string
	Control string // spec of the control socket

	Reporter *client.Client // see Client
}

// Small filters make the daemon start at once. No network is local, so that mail from the
// tests is judged.
const smallConfig = `
[site]
name = %q
federation_key = %q
[milter]
listen = ["inet:0@127.0.0.1"]
local_networks = []
spam_flag = "X-Spam-Flag"
judge_timeout = "5m"
[bulk]
capacity = %d
threshold = 50
[reports]
capacity = %d
[redis]
url = %q
[http]
listen = "127.0.0.1:0"
[log]
format = "json"
`

// Config returns the configuration of a daemon with small filters. Long tests report and count more
// than those of the others have room for.
func Config(name, key, redis string) string {
	counts, reports := 1000, 4000
	if testenv.Soak() {
		counts, reports = 10_000, 100_000
	}
	return fmt.Sprintf(smallConfig, name, key, counts, reports, redis)
}

// NewSite prepares a daemon that shares key with its federation.
func NewSite(t testing.TB, name, key, redis string) *Site {
	t.Helper()
	dir := testenv.Dir(t)
	Write(t, filepath.Join(dir, "spambloom.toml"), Config(name, key, redis))
	return &Site{T: t, Dir: dir, Name: name, Control: "unix:" + filepath.Join(dir, "state", "spambloom.sock")}
}

// Start runs the daemon and waits until it is ready.
func (s *Site) Start() *Site {
	s.T.Helper()
	logFile, err := os.OpenFile(filepath.Join(s.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.T.Fatal(err)
	}
	defer logFile.Close()
	before := len(s.Log())
	s.Cmd = exec.Command(cmp.Or(s.Binary, Program(s.T, "spambloomd")), "-c", filepath.Join(s.Dir, "spambloom.toml"), "--data", filepath.Join(s.Dir, "state"))
	s.Cmd.Stderr, s.Cmd.Env = logFile, append(os.Environ(), s.Env...)
	if err := StartChild(s.Cmd); err != nil {
		s.T.Fatal(err)
	}
	s.Ended = make(chan error, 1)
	go func() { s.Ended <- s.Cmd.Wait() }()
	s.T.Cleanup(func() { s.Stop(syscall.SIGKILL) })
	testenv.Eventually(s.T, "spambloomd is ready", func() bool { return s.ReadReady(s.Log()[before:]) })
	return s
}

// ReadReady extracts the addresses from the line that reports the daemon as ready.
func (s *Site) ReadReady(log string) bool {
	for line := range strings.Lines(log) {
		var ready struct {
			Msg    string
			Milter []string
			HTTP   string
		}
		if json.Unmarshal([]byte(line), &ready) == nil && ready.Msg == "ready" {
			s.Milter, s.HTTP = ready.Milter[0], ready.HTTP
			return true
		}
		if _, text, ok := strings.Cut(line, "msg=ready milter=["); ok { // format = "text"
			s.Milter, _, _ = strings.Cut(text, "]")
			return true
		}
	}
	select {
	case err := <-s.Ended:
		s.Ended <- err
		s.T.Fatalf("spambloomd ended at its start: %v\n%s", err, log)
	default:
	}
	return false
}

// NoSignal only waits: a second SIGTERM would cut off a stop.
const NoSignal = syscall.Signal(0)

// Stop ends the daemon and returns its exit code, -1 for a signal. A second Stop does
// nothing.
func (s *Site) Stop(signal syscall.Signal) int {
	s.T.Helper()
	if s.Cmd == nil {
		return 0
	}
	_ = s.Cmd.Process.Signal(signal) // it may have ended by itself
	select {
	case err := <-s.Ended:
		s.Cmd = nil
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			if exit.ExitCode() == 66 {
				s.T.Errorf("the race detector found something:\n%s", s.Log())
			}
			return exit.ExitCode()
		}
		return 0
	case <-time.After(testenv.Patience):
		_ = s.Cmd.Process.Kill()
		<-s.Ended
		s.T.Fatalf("spambloomd does not stop:\n%s", s.Log())
		return 0
	}
}

// Reload sends SIGHUP and waits for the resulting line.
func (s *Site) Reload(t testing.TB, answer string) {
	t.Helper()
	before := len(s.Log())
	testenv.Check(t, s.Cmd.Process.Signal(syscall.SIGHUP))
	testenv.Eventually(t, "the log says "+answer, func() bool { return strings.Contains(s.Log()[before:], answer) })
}

// Configure replaces one text of the configuration with another.
func (s *Site) Configure(t testing.TB, old, new string) {
	t.Helper()
	path := filepath.Join(s.Dir, "spambloom.toml")
	text, err := os.ReadFile(path)
	testenv.Check(t, err)
	if !strings.Contains(string(text), old) {
		t.Fatalf("no %q in\n%s", old, text)
	}
	Write(t, path, strings.Replace(string(text), old, new, 1))
}

// Overlay applies changes to the configuration: a key replaces the same key, a table of an
// array is added to the others.
func (s *Site) Overlay(t testing.TB, changes string) {
	t.Helper()
	path := filepath.Join(s.Dir, "spambloom.toml")
	text, err := os.ReadFile(path)
	testenv.Check(t, err)
	Write(t, path, Overlay(string(text), changes))
}

func Overlay(text, changes string) string {
	var sections []string
	keys := map[string][]string{}
	section := ""
	for line := range strings.Lines(text + "\n" + changes) {
		line = strings.TrimSpace(line)
		switch key, _, found := strings.Cut(line, "="); {
		case strings.HasPrefix(line, "["):
			section = line
			if strings.HasPrefix(line, "[[") {
				section += strings.Repeat(" ", len(sections)) // unique
			}
			if _, known := keys[section]; !known {
				sections = append(sections, section)
				keys[section] = nil
			}
		case found:
			var kept []string
			for _, other := range keys[section] {
				if !strings.HasPrefix(other, key+"=") {
					kept = append(kept, other)
				}
			}
			keys[section] = append(kept, line)
		}
	}
	var b strings.Builder
	for _, section := range sections {
		fmt.Fprintf(&b, "%s\n%s\n", strings.TrimSpace(section), strings.Join(keys[section], "\n"))
	}
	return b.String()
}

// KeyFile writes a federation key.
func KeyFile(t testing.TB, key [32]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "federation.key")
	testenv.Check(t, keyring.WriteKey(path, key))
	return path
}
