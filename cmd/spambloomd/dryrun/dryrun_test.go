package dryrun

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/cmd/spambloomd/state"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// -t refuses the addresses on which the user who starts the daemon may not listen: here not
// root, but the owner of the state folder.
func TestAddressesAreChecked(t *testing.T) {
	testenv.Root(t)
	nobody, err := user.Lookup("nobody")
	testenv.Check(t, err)
	dir := testenv.Dir(t)
	data := filepath.Join(dir, "state")
	uid, err := strconv.Atoi(nobody.Uid)
	testenv.Check(t, err)
	testenv.Check(t, errors.Join(os.Mkdir(data, 0o700), os.Chown(data, uid, -1)))
	closed, open := filepath.Join(dir, "closed"), filepath.Join(dir, "open")
	testenv.Check(t, errors.Join(os.Mkdir(closed, 0o755), os.Mkdir(open, 0o755), os.Chmod(open, 0o777)))
	handing, mail := filepath.Join(dir, "handing"), harness.GroupID(t, "mail")
	testenv.Check(t, errors.Join(os.Mkdir(handing, 0o755), os.Chown(handing, uid, mail), os.Chmod(handing, 0o750|fs.ModeSetgid)))
	file := harness.Write(t, filepath.Join(open, "file"), "")
	busy, err := net.Listen("tcp4", "127.0.0.1:0")
	testenv.Check(t, err)
	defer busy.Close()

	key, err := keyring.NewSigningKey()
	testenv.Check(t, err)
	ofRoot, ofUser := filepath.Join(dir, "root.key"), filepath.Join(dir, "user.key")
	testenv.Check(t, errors.Join(keyring.WriteSigningKey(ofRoot, key), keyring.WriteSigningKey(ofUser, key), os.Chown(ofUser, uid, -1)))

	for name, c := range map[string]struct{ config, want string }{
		"key of root":         {fmt.Sprintf("[site]\nsigning_key = %q", ofRoot), "the user nobody, who starts the daemon, cannot read " + ofRoot},
		"key of the user":     {fmt.Sprintf("[site]\nsigning_key = %q", ofUser), ""},
		"defaults":            {"", ""},
		"socket":              {fmt.Sprintf("[spamd]\nlisten = [\"unix:%s/s.sock\"]", open), ""},
		"its own group":       {fmt.Sprintf("[spamd]\nlisten = [\"unix:%s/s.sock\"]\ngroup = %q", open, nobody.Gid), ""},
		"group of another":    {fmt.Sprintf("[spamd]\nlisten = [\"unix:%s/s.sock\"]\ngroup = \"mail\"", open), `spamd.listen: listen on unix:` + open + `/s.sock: give the socket to group "mail"`},
		"group of the folder": {fmt.Sprintf("[spamd]\nlisten = [\"unix:%s/s.sock\"]\ngroup = \"mail\"", handing), ""},
		"control's group":     {"[control]\ngroup = \"mail\"", `control.listen: listen on unix:` + data + `/spambloom.sock: give the socket to group "mail"`},
		"milter's group":      {fmt.Sprintf("[milter]\nlisten = [\"unix:%s/m.sock\"]\ngroup = \"mail\"", open), `give the socket to group "mail"`},
		"privileged port":     {"[spamd]\nlisten = [\"inet:783@127.0.0.1\"]", "no permission for port 783"},
		"closed folder":       {fmt.Sprintf("[milter]\nlisten = [\"unix:%s/m.sock\"]", closed), "folder " + closed},
		"no folder":           {fmt.Sprintf("[milter]\nlisten = [\"unix:%s/none/m.sock\"]", dir), dir + "/none does not exist"},
		"another file":        {fmt.Sprintf("[milter]\nlisten = [\"unix:%s\"]", file), "is not a socket"},
		"port in use":         {fmt.Sprintf("[milter]\nlisten = [%q]", "inet:"+busy.Addr().String()), "port in use by another process"},
		"HTTP port in use":    {fmt.Sprintf("[http]\nlisten = %q", busy.Addr().String()), "http.listen: listen on "},
		"not of this machine": {"[milter]\nlisten = [\"inet:0@192.0.2.1\"]", "192.0.2.1 is not an address of this machine"},
		"several at once":     {"[spamd]\nlisten = [\"inet:783@127.0.0.1\"]\n[http]\nlisten = \"192.0.2.1:0\"", "http.listen: "},
	} {
		t.Run(name, func(t *testing.T) {
			err := Run(load(t, data, c.config), nil, io.Discard, io.Discard)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*", "*")); err != nil || len(left) != 1 {
		t.Errorf("-t made files: %q, %v", left, err)
	}
}

// While the daemon runs, the ports in use are its own.
func TestRunningDaemonHasItsPorts(t *testing.T) {
	data := filepath.Join(testenv.Dir(t), "state")
	busy, err := net.Listen("tcp4", "127.0.0.1:0")
	testenv.Check(t, err)
	defer busy.Close()
	s := load(t, data, fmt.Sprintf("[milter]\nlisten = [%q]", "inet:"+busy.Addr().String()))
	opened, err := state.Open(s, slog.New(slog.DiscardHandler))
	testenv.Check(t, err)
	if err := Run(s, nil, io.Discard, io.Discard); err != nil {
		t.Error(err)
	}
	testenv.Check(t, opened.Close())
	if err := Run(s, nil, io.Discard, io.Discard); err == nil {
		t.Error("the port of another program is accepted")
	}
}

// Before its start the unit's folder for sockets does not exist: systemd makes it.
func TestRuntimeFolderIsMade(t *testing.T) {
	dir := testenv.Dir(t)
	t.Setenv("RUNTIME_DIRECTORY", filepath.Join(dir, "run"))
	if err := Run(load(t, filepath.Join(dir, "state"), ""), nil, io.Discard, io.Discard); err != nil {
		t.Error(err)
	}
	if err := Run(load(t, filepath.Join(dir, "state"), fmt.Sprintf("[control]\nlisten = \"unix:%s/other/s\"", dir)), nil, io.Discard, io.Discard); err == nil {
		t.Error("another folder that does not exist is accepted")
	}
}

// Sockets that systemd holds for the unit replace addresses, as at a start: a stopped daemon's port
// is then in use by systemd.
func TestSystemdHoldsSockets(t *testing.T) {
	dir := testenv.Dir(t)
	data := filepath.Join(dir, "state")
	testenv.Check(t, os.Mkdir(data, 0o700))
	self, err := user.Current()
	testenv.Check(t, err)
	path := harness.Write(t, filepath.Join(dir, "systemctl"), "#!/bin/sh\ncase $3 in\nspambloom.service) echo User="+self.Username+
		"; echo TriggeredBy=a.path a.socket b.socket;;\na.socket) echo ActiveState=$ACTIVE; echo FileDescriptorName=mx;;\n*) echo ActiveState=inactive;;\nesac\n")
	testenv.Check(t, os.Chmod(path, 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	busy, err := net.Listen("tcp4", "127.0.0.1:0")
	testenv.Check(t, err)
	defer busy.Close()
	listen := fmt.Sprintf("[milter]\nlisten = [%q]\n", "inet:"+busy.Addr().String())
	policy := listen + "[[policy]]\nname = \"p\"\nlisteners = [\"mx\"]\nspam = \"reject\"\n"

	t.Setenv("ACTIVE", "active")
	passed := Passed(data)
	if !slices.Equal(passed, []string{"mx"}) {
		t.Fatalf("systemd passes %q", passed)
	}
	var out strings.Builder
	if err := Run(load(t, data, policy, passed...), passed, &out, io.Discard); err != nil || !strings.Contains(out.String(), "\nsystemd listens: its socket \"mx\" replaces milter.listen\n") {
		t.Errorf("%v\n%s", err, &out)
	}
	for _, refused := range []string{"spamd", "remote"} {
		if err := Run(load(t, data, listen, refused), []string{"mx", refused}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "is empty, but systemd passes a socket named "+refused) {
			t.Errorf("%s: %v", refused, err)
		}
	}
	if err := Run(load(t, data, policy, "control", "control"), []string{"mx", "control", "control"}, io.Discard, io.Discard); err == nil {
		t.Error("two sockets are named control")
	}
	if err := Run(load(t, data, policy, "submission"), []string{"submission"}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), `"mx" is not a name of a socket`) {
		t.Errorf("a policy for another name: %v", err)
	}

	t.Setenv("ACTIVE", "inactive")
	if passed := Passed(data); len(passed) > 0 {
		t.Errorf("a stopped socket unit passes %q", passed)
	}
	if err := Run(load(t, data, listen), nil, io.Discard, io.Discard); err == nil {
		t.Error("the port of another program is accepted")
	}
}

// load returns the settings of a small site that listens on free ports, with changes.
func load(t *testing.T, data, changes string, passed ...string) *settings.Settings {
	t.Helper()
	text := "[site]\nname = \"mx1\"\n[reports]\ncapacity = 100_000\n[bulk]\ncapacity = 10_000\n[milter]\nlisten = [\"inet:0@127.0.0.1\"]\n[http]\nlisten = \"127.0.0.1:0\"\n"
	path := harness.Write(t, filepath.Join(t.TempDir(), "f.toml"), harness.Overlay(text, changes))
	s, err := settings.New(settings.Flags{Config: path, Data: data, Passed: passed}, func(string) bool { return false })
	testenv.Check(t, err)
	return s
}
