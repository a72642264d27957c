package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	v1 "github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/reporting/overview"
)

// free are flags for a start that uses no fixed address.
var free = []string{"--listen", "inet:0@127.0.0.1", "--http", "127.0.0.1:0"}

// start runs the program in this process until it ends by itself.
func start(t *testing.T, args ...string) harness.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, &stdout, &stderr)
	return harness.Result{Code: code, Stdout: stdout.String(), Stderr: stderr.String()}
}

// tested are flags of -t. Its usual ports may be in use on this machine.
func tested(args ...string) []string { return slices.Concat([]string{"-t"}, free, args) }

// A failed start prints one line with the cause and the object concerned. Its exit code
// gives the kind of failure.
func TestFailedStarts(t *testing.T) {
	dir := testenv.Dir(t)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	defer busy.Close()
	control, err := net.Listen("unix", filepath.Join(dir, "busy.sock"))
	testenv.Check(t, err)
	defer control.Close()
	config := func(text string) string {
		f, err := os.CreateTemp(dir, "*.toml")
		testenv.Check(t, err)
		f.Close()
		return harness.Write(t, f.Name(), text)
	}
	file := harness.Write(t, filepath.Join(dir, "file"), "")
	open := harness.Write(t, filepath.Join(dir, "open.key"), strings.Repeat("0", 64))
	testenv.Check(t, os.Chmod(open, 0o644))
	listenBusy := config(fmt.Sprintf("[milter]\nlisten = [\"inet:%s\"]\n", busy.Addr()))
	badKey := config("[site]\nname = \"mx 1\"\n[mitler]\n")
	openKey := config(fmt.Sprintf("[site]\nfederation_key = %q\n", open))
	farKey := config(fmt.Sprintf("[site]\nfederation_key = %q\n", dir+"/none/federation.key"))
	badRedis := config("[redis]\nurl = \"http://127.0.0.1\"\n")
	openSign := config(fmt.Sprintf("[site]\nsigning_key = %q\n", open))
	badCA := config(fmt.Sprintf("[redis]\nurl = \"rediss://h\"\nca = %q\n", file))
	badPair := config(fmt.Sprintf("[redis]\nurl = \"rediss://h\"\ncert = %q\n", file))
	plainCA := config(fmt.Sprintf("[redis]\nurl = \"redis://h\"\nca = %q\n", pemFile(t, dir)))
	sign, public := signingKey(t, dir)
	peer := func(name, key string) string {
		return config(fmt.Sprintf("[site]\nname = \"mx1\"\nsigning_key = %q\n[[peer]]\nname = %q\nkey = %q\n", sign, name, key))
	}
	badPeer, secretPeer := peer("mx2", "ed25519:AAAA"), peer("mx2", "ed25519-private:AAAA")
	namesake, sameKey := peer("mx1", otherKey), peer("mx2", public)
	badListen := config("[milter]\nlisten = [\"inet:8899\", \"unix:\"]\n")
	badGroup := config("[control]\ngroup = \"no-such-group\"\n")
	badMilterGroup := config("[milter]\ngroup = \"no-such-group\"\n")

	for _, c := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"unknown flag", []string{"--nonsense"}, 64, []string{"error: unknown flag: --nonsense", "hint: see spambloomd --help"}},
		{"argument", []string{"start"}, 64, []string{`error: unknown argument "start"`}},
		{"no config", []string{"-c", dir + "/none.toml"}, 78, []string{"none.toml: no such file"}},
		{"bad config", []string{"-c", badKey}, 78, []string{badKey + `:2: site.name: "mx 1" is not a site name`, badKey + ":3: mitler: unknown section"}},
		{"bad config, tested", []string{"-t", "-c", badKey}, 78, []string{badKey + ":2:", badKey + ":3:"}},
		{"bad flag", []string{"--site", "mx 1"}, 78, []string{"error: --site:"}},
		{"bad addresses", []string{"-c", badListen}, 78, []string{badListen + ":2: milter.listen: address \"inet:8899\": no host", badListen + `:2: milter.listen: address "unix:": no path`}},
		{"bad address by flag", []string{"--listen", "8899"}, 78, []string{`error: --listen: address "8899": want inet:PORT@HOST`}},
		{"control by TCP", []string{"--control", "inet:8897@127.0.0.1"}, 78, []string{"--control:", "want unix:PATH"}},
		{"control by a wrong address", []string{"--control", "inet:1@1"}, 78, []string{`--control: address "inet:1@1": want unix:PATH`}},
		{"HTTP without a host", []string{"-t", "--http", "8898"}, 78, []string{`--http: address "8898": want HOST:PORT`}},
		{"HTTP on all interfaces by mistake", []string{"-t", "--http", ":8898"}, 78, []string{"--http: ", "for all interfaces write 0.0.0.0"}},
		{"key in no folder", []string{"-t", "-c", farKey}, 78, []string{farKey + ":2: site.federation_key: ", "folder " + dir + "/none does not exist"}},
		{"bad Redis", []string{"-t", "-c", badRedis}, 78, []string{badRedis + ":2: redis.url: "}},
		{"readable key", []string{"-t", "-c", openKey}, 78, []string{openKey + ":2: site.federation_key: ", "mode is 0644"}},
		{"readable signing key", []string{"-t", "-c", openSign}, 78, []string{openSign + ":2: site.signing_key: ", "mode is 0644"}},
		{"CA is none", []string{"-t", "-c", badCA}, 78, []string{badCA + ":3: redis.ca: ca " + file + ": contains no PEM certificate"}},
		{"CA without TLS", []string{"-t", "-c", plainCA}, 78, []string{plainCA + ":2: redis.url: ", "requires rediss://"}},
		{"certificate without a key", []string{"-t", "-c", badPair}, 78, []string{badPair + ":3: redis.cert: ", "both required"}},
		{"bad key of a peer", []string{"-t", "-c", badPeer}, 78, []string{badPeer + `:6: peer.key: "ed25519:AAAA" is not a public key`}},
		{"private key of a peer", []string{"-t", "-c", secretPeer}, 78, []string{secretPeer + ":6: peer.key: that is a private key"}},
		{"peer of our name", []string{"-t", "-c", namesake}, 78, []string{namesake + `:6: peer.key: "mx1" is this site's own name, and its key is ` + public}},
		{"peer of our key", []string{"-t", "-c", sameKey}, 78, []string{sameKey + `:6: peer.key: the key of "mx2" is this site's own`}},
		{"milter port in use", []string{"-c", listenBusy, "--data", dir + "/s1", "--http", ""}, 75, []string{listenBusy + ":2: milter.listen: ", "port in use", "hint: choose another address"}},
		{"HTTP port in use, tested", []string{"-t", "--data", dir + "/s2", "--listen", "inet:0@127.0.0.1", "--http", busy.Addr().String()}, 75, []string{"--http: ", "port in use"}},
		{"control socket in use", append([]string{"--data", dir + "/s3", "--control", "unix:" + dir + "/busy.sock"}, free...), 75, []string{"--control: ", "socket in use"}},
		{"no such group", []string{"-t", "-c", badGroup}, 78, []string{badGroup + ":2: control.group: there is no group \"no-such-group\""}},
		{"port in use, tested", []string{"-t", "-c", listenBusy, "--data", dir + "/s1", "--http", ""}, 75, []string{listenBusy + ":2: milter.listen: ", "port in use", "hint: choose another address"}},
		{"foreign address, tested", []string{"-t", "--data", dir + "/s5", "--listen", "inet:0@192.0.2.1", "--http", ""}, 73, []string{"--listen: ", "192.0.2.1 is not an address of this machine"}},
		{"no such group of the milter", []string{"-t", "-c", badMilterGroup}, 78, []string{badMilterGroup + ":2: milter.group: there is no group \"no-such-group\""}},
		{"state below a file", append([]string{"--data", file + "/state"}, free...), 73, []string{"state folder: ", file}},
		{"no address", []string{"-c", config("[milter]\nlisten = []\n")}, 78, []string{":2: milter.listen: no address"}},
		{"foreign address", []string{"--data", dir + "/s5", "--listen", "inet:0@192.0.2.1", "--http", ""}, 73, []string{"--listen: ", "192.0.2.1 is not an address of this machine"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, c.args...)
			if r.Code != c.code {
				t.Errorf("exit code %d, want %d", r.Code, c.code)
			}
			for _, want := range c.want {
				if !strings.Contains(r.Stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, r.Stderr)
				}
			}
			if !strings.Contains(r.Stderr, "spambloomd: error: ") {
				t.Errorf("not in the format of the commands:\n%s", r.Stderr)
			}
		})
	}
}

// A user of the machine who takes the port of the page or of spamd while the daemon restarts does not
// keep mail from being judged. The log has an error, status names both, and no link leads to that
// user's program. A policy for the port of spamd keeps being accepted.
func TestTakenPort(t *testing.T) {
	dir := testenv.Dir(t)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	defer busy.Close()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	defer other.Close()
	spamd := fmt.Sprintf("inet:%d@127.0.0.1", other.Addr().(*net.TCPAddr).Port)
	config := harness.Write(t, filepath.Join(dir, "spambloom.toml"),
		fmt.Sprintf("spamd.listen = [%q]\n[[policy]]\nname = \"spamd\"\nlisteners = [%q]\nbulk_threshold = 30\n", spamd, spamd))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log, out bytes.Buffer
	ready, ended := make(chan struct{}), make(chan int)
	go func() {
		ended <- run(ctx, []string{"-c", config, "--data", filepath.Join(dir, "state"), "--listen", "inet:0@127.0.0.1", "--http", busy.Addr().String()},
			&out, io.MultiWriter(&log, call{"msg=ready", func() { close(ready) }}))
	}()
	select {
	case <-ready:
	case code := <-ended:
		t.Fatalf("exit code %d:\n%s", code, &log)
	}
	daemon, err := client.Dial("unix:" + filepath.Join(dir, "state", "spambloom.sock"))
	testenv.Check(t, err)
	defer daemon.Close()
	if link, err := client.Get(t.Context(), daemon, v1.Web); err == nil || !strings.Contains(err.Error(), "another program had its address") {
		t.Errorf("link %q: %v", link.URL, err)
	}
	for _, named := range []string{busy.Addr().String() + " (http.listen)", spamd + " (spamd.listen)"} {
		if status, err := client.Get(t.Context(), daemon, v1.Status); err != nil || !slices.ContainsFunc(status.Overview.Needs, func(n overview.Need) bool {
			return strings.HasPrefix(n.Text, named+" was in use")
		}) {
			t.Errorf("status without %s: %+v, %v", named, status.Overview, err)
		}
	}
	stop()
	if code := <-ended; code != 0 || !strings.Contains(log.String(), "level=ERROR msg=\"not served") || strings.Contains(out.String(), busy.Addr().String()) {
		t.Errorf("exit code %d:\n%s%s", code, &log, &out)
	}
}

func TestGoodTest(t *testing.T) {
	dir := t.TempDir()
	path := harness.Write(t, filepath.Join(dir, "good.toml"), "[site]\nname = \"mx1\"\n")
	if r := start(t, tested("-c", path, "--data", dir+"/state")...); r.Code != 0 || !strings.HasPrefix(r.Stdout, path+" is valid\nat most ") {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(dir + "/state"); err == nil {
		t.Error("-t made a state folder")
	}
	for _, shipped := range []string{"spambloom.toml", "container.toml"} {
		text, err := os.ReadFile("../../contrib/" + shipped)
		testenv.Check(t, err)
		// The container's volume.
		here := harness.Write(t, filepath.Join(dir, shipped), strings.ReplaceAll(string(text), `"/federation/`, `"`+dir+"/"))
		if r := start(t, tested("-c", here, "--data", dir+"/state")...); r.Code != 0 {
			t.Errorf("%s: %+v", shipped, r)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	r := start(t, "--help")
	for _, want := range []string{"--data FOLDER", "-c, --config FILE", "--listen ADDRESS", "78  wrong configuration", "SIGHUP"} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("--help lacks %q:\n%s", want, r.Stdout)
		}
	}
	if r := start(t, "--version"); r.Code != 0 || !strings.HasPrefix(r.Stdout, "spambloomd ") {
		t.Errorf("%+v", r)
	}
}

// A second daemon does not get the folder of the first one. A damaged file in it is named.
func TestStateFolder(t *testing.T) {
	dir := testenv.Dir(t)
	args := append([]string{"--data", filepath.Join(dir, "state")}, free...)
	ctx, stop := context.WithCancel(t.Context())
	ready := make(chan struct{})
	ended := make(chan int)
	go func() {
		ended <- run(ctx, args, &bytes.Buffer{}, call{"msg=ready", func() { close(ready) }})
	}()
	<-ready
	if r := start(t, args...); r.Code != 75 || !strings.Contains(r.Stderr, "in use by another process") || !strings.Contains(r.Stderr, "hint: another spambloomd") {
		t.Errorf("%+v", r)
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("stopped with exit code %d", code)
	}
	identity := filepath.Join(dir, "state", "identity")
	harness.Write(t, identity, "garbage")
	if r := start(t, args...); r.Code != 74 || !strings.Contains(r.Stderr, identity) || !strings.Contains(r.Stderr, "hint: run spambloomd --repair") {
		t.Errorf("%+v", r)
	}
	// Follow the hint.
	if r := start(t, append(args, "--repair")...); r.Code != 0 || !strings.Contains(r.Stdout, identity) {
		t.Errorf("%+v", r)
	}
	repaired, stopRepaired := context.WithCancel(t.Context())
	if code := run(repaired, args, io.Discard, call{"msg=ready", stopRepaired}); code != 0 {
		t.Errorf("the repaired folder: exit code %d", code)
	}
	// Alternatively, use a new folder.
	state, away := filepath.Join(dir, "state"), filepath.Join(dir, "away")
	err := errors.Join(os.Rename(state, away), os.Mkdir(state, 0o700), os.Rename(filepath.Join(away, "federation.key"), filepath.Join(state, "federation.key")))
	testenv.Check(t, err)
	again, stopAgain := context.WithCancel(t.Context())
	if code := run(again, args, io.Discard, call{"msg=ready", stopAgain}); code != 0 {
		t.Errorf("a new folder with the key: exit code %d", code)
	}
}

// TestForeignFolder is the attack "state folder": another user makes the folder before the first
// start, or may write to it, and could put keys, reports and links in place of the daemon's files.
// The start refuses it and writes nothing there.
func TestForeignFolder(t *testing.T) {
	dir := testenv.Dir(t)
	for name, change := range map[string]func(dir string) error{
		"mode":  func(dir string) error { return os.Chmod(dir, 0o777) },
		"owner": func(dir string) error { return os.Chown(dir, 65534, -1) },
	} {
		if name == "owner" && os.Geteuid() != 0 {
			continue
		}
		state := filepath.Join(dir, name)
		testenv.Check(t, errors.Join(os.Mkdir(state, 0o700), change(state)))
		backup := filepath.Join(dir, name+".tar")
		harness.Write(t, backup, "")
		for _, way := range [][]string{nil, {"--repair"}, {"--restore", backup}} {
			args := append([]string{"--data", state}, way...)
			if way == nil {
				args = append(args, free...)
			}
			if r := start(t, args...); r.Code != 73 || !strings.Contains(r.Stderr, "could replace its files") {
				t.Errorf("%s %v: %+v", name, way, r)
			}
		}
		if entries, err := os.ReadDir(state); err != nil || len(entries) > 0 {
			t.Errorf("%s: %v in the folder, %v", name, entries, err)
		}
		wanted := 73
		if name == "owner" {
			wanted = 0 // as root, -t is for a daemon that runs as another user
		}
		if r := start(t, append([]string{"-t", "--data", state}, free...)...); r.Code != wanted {
			t.Errorf("-t, %s: %+v", name, r)
		}
	}
}

// call is a log that calls a function at each line that contains a word.
type call struct {
	word string
	do   func()
}

func (c call) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(c.word)) {
		c.do()
	}
	return len(line), nil
}

// The database accepts the extremes of the configuration. Memory is not used before there
// are reports.
func TestExtremeSizes(t *testing.T) {
	for _, text := range []string{
		"[reports]\ncapacity = 10_000_000\nmax_error_per_mail = 1e-9\nkeep = 1\nperiod = \"8784h\"\n[bulk]\ncapacity = 1_000_000_000\nkeep = 31\nperiod = \"744h\"\n",
		"[reports]\ncapacity = 1_000\nmax_error_per_mail = 1e-2\nkeep = 60\nperiod = \"1h\"\n[bulk]\ncapacity = 1_000\nkeep = 1\nperiod = \"1h\"\n",
	} {
		dir := testenv.Dir(t)
		args := append([]string{"-c", harness.Write(t, filepath.Join(dir, "c.toml"), text), "--data", filepath.Join(dir, "state")}, free...)
		ctx, stop := context.WithCancel(t.Context())
		var stderr bytes.Buffer
		log := io.MultiWriter(&stderr, call{"msg=ready", stop})
		if code := run(ctx, args, io.Discard, log); code != 0 {
			t.Errorf("exit code %d\n%s", code, stderr.String())
		}
		stop()
	}
}

// State without its own key is useless: no other key is created in its place.
func TestLostKey(t *testing.T) {
	data := t.TempDir()
	db, err := bloomdb.Open(bloomdb.Options{Dir: data, Site: "mx1"})
	testenv.Check(t, err)
	testenv.Check(t, db.Close())
	r := start(t, "--data", data, "--site", "mx1", "--listen", "inet:0@127.0.0.1", "--http", "")
	if r.Code != 78 || !strings.Contains(r.Stderr, "federation.key") || !strings.Contains(r.Stderr, "hint: copy the key from another site or a backup") {
		t.Errorf("exit %d: %s", r.Code, r.Stderr)
	}
	if _, err := os.Stat(filepath.Join(data, "federation.key")); err == nil {
		t.Error("a new key was made")
	}
	if r := start(t, "--data", writeKeyAt(t, data), "--site", "mx2", "--listen", "inet:0@127.0.0.1", "--http", ""); r.Code != 78 || !strings.Contains(r.Stderr, `belongs to site "mx1"`) {
		t.Errorf("another name: exit %d: %s", r.Code, r.Stderr)
	}
	other := filepath.Join(t.TempDir(), "other.key")
	testenv.Check(t, keyring.WriteKey(other, [32]byte{1, 2}))
	// More than one byte differs: it is another key, not a damaged one.
	config := harness.Write(t, other+".toml", fmt.Sprintf("[site]\nname = \"mx1\"\nfederation_key = %q\n", other))
	if r := start(t, "-c", config, "--data", data, "--listen", "inet:0@127.0.0.1", "--http", ""); r.Code != 78 || !strings.Contains(r.Stderr, "for another key, set previous_federation_key") {
		t.Errorf("another key: exit %d: %s", r.Code, r.Stderr)
	}
}

// writeKeyAt writes the key of all zeros, with which TestLostKey created the folder.
func writeKeyAt(t *testing.T, dir string) string {
	t.Helper()
	testenv.Check(t, keyring.WriteKey(filepath.Join(dir, "federation.key"), [32]byte{}))
	return dir
}

// The daemon warns if a group may use the socket but not enter its folder.
func TestClosedFolder(t *testing.T) {
	dir := testenv.Dir(t)
	path := harness.Write(t, filepath.Join(dir, "c.toml"), fmt.Sprintf("[control]\ngroup = \"%d\"\n", os.Getgid()))
	for folder, warned := range map[string]bool{dir: false, filepath.Join(dir, "state"): true} {
		args := append([]string{"-c", path, "--data", filepath.Join(dir, "state"), "--control", "unix:" + filepath.Join(folder, "c.sock")}, free...)
		ctx, stop := context.WithCancel(t.Context())
		var stderr bytes.Buffer
		if code := run(ctx, args, io.Discard, io.MultiWriter(&stderr, call{"msg=ready", stop})); code != 0 {
			t.Fatalf("exit code %d\n%s", code, stderr.String())
		}
		want := "may not enter the folder " + filepath.Join(dir, "state")
		if got := strings.Contains(stderr.String(), want); got != warned {
			t.Errorf("socket in %s: warned %v, want %v\n%s", folder, got, warned, stderr.String())
		}
	}
}

// A missing key in a folder that the start creates is not an error, however the path is
// written.
func TestKeyInStateFolder(t *testing.T) {
	dir := t.TempDir()
	path := harness.Write(t, filepath.Join(dir, "c.toml"), fmt.Sprintf("[site]\nfederation_key = %q\n", filepath.Join(dir, "a", "federation.key")))
	for state, code := range map[string]int{"a": 0, "a/b/../c": 0, "ab": 78} {
		if r := start(t, tested("-c", path, "--data", dir+"/"+state)...); r.Code != code {
			t.Errorf("state in %s: %+v", state, r)
		}
	}
}
