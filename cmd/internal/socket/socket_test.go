package socket

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ spec, network, address string }{
		{"inet:8899@127.0.0.1", "tcp4", "127.0.0.1:8899"},
		{"inet:127.0.0.1:8899", "tcp4", "127.0.0.1:8899"},
		{"inet:8899@localhost", "tcp4", "localhost:8899"},
		{"inet:mx-1.example.org:8899", "tcp4", "mx-1.example.org:8899"},
		{"inet:0@0.0.0.0", "tcp4", "0.0.0.0:0"},
		{"inet:[::1]:8899", "tcp6", "[::1]:8899"},
		{"inet6:8899@[::1]", "tcp6", "[::1]:8899"},
		{"inet6:8899@::1", "tcp6", "[::1]:8899"},
		{"inet6:[fe80::1%eth0]:25", "tcp6", "[fe80::1%eth0]:25"},
		{"127.0.0.1:8898", "tcp4", "127.0.0.1:8898"},
		{"[::]:8898", "tcp6", "[::]:8898"},
		{"unix:/run/s.sock", "unix", "/run/s.sock"},
		{"unix:./data/s.sock", "unix", "./data/s.sock"},
		{"local:/run/s.sock", "unix", "/run/s.sock"},
		{"/run/s.sock", "unix", "/run/s.sock"},
	} {
		network, address, err := Parse(c.spec)
		if err != nil || network != c.network || address != c.address {
			t.Errorf("Parse(%q) = %q, %q, %v; want %q, %q", c.spec, network, address, err, c.network, c.address)
		}
	}
}

func TestParseBad(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"", "want inet:PORT@HOST"},
		{"8899", "want inet:PORT@HOST"},
		{"tcp://127.0.0.1:1", "want inet:PORT@HOST"},
		{"spambloom.sock", "want inet:PORT@HOST"},
		{"inet:", "no host"},
		{"inet:8899", "no host"},
		{"inet:8899@", "write 0.0.0.0"},
		{"inet::8899", "write 0.0.0.0"},
		{":8899", "write 0.0.0.0"},
		{"inet:smtp@127.0.0.1", `port "smtp" is not a number`},
		{"inet:65536@127.0.0.1", "from 0 to 65535"},
		{"inet:-1@127.0.0.1", "from 0 to 65535"},
		{"inet:127.0.0.1@8899", `port "127.0.0.1" is not a number`},
		{"inet:8899@127.0.0.256", "not an IPv4 address"},
		{"inet:8899@mx 1", "is not allowed in a host name"},
		{"inet:8899@a@b", "is not allowed in a host name"},
		{"inet6:8899@127.0.0.1", "not an IPv6 address"},
		{"inet6:::1:8899", "must be in brackets"},
		{"inet6:8899@[::1", "brackets are for"},
		{"inet:8899@[127.0.0.1]", "brackets are for"},
		{"unix:", "no path"},
		{"unix:@abstract", "abstract"},
		{"unix:a\x00b", "abstract"},
		{"unix:/" + strings.Repeat("x", 107), "path of 108 bytes"},
	} {
		_, _, err := Parse(c.spec)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), strconv.Quote(c.spec)) {
			t.Errorf("Parse(%q): error %v; want one with the spec and %q", c.spec, err, c.want)
		}
	}
}

func listen(t *testing.T, spec string) net.Listener {
	t.Helper()
	ln, err := Listen(spec, 0o660, "")
	testenv.Check(t, err)
	t.Cleanup(func() { ln.Close() })
	return ln
}

func wantError(t *testing.T, spec, text string, is error) {
	t.Helper()
	ln, err := Listen(spec, 0o660, "")
	if err == nil {
		ln.Close()
		t.Fatalf("listening on %s succeeded", spec)
	}
	if strings.Count(err.Error(), "in use") > 1 {
		t.Errorf("stated twice: %v", err)
	}
	if !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), spec) || !errors.Is(err, is) {
		t.Fatalf("error %q; want the spec, %q and %v", err, text, is)
	}
}

func TestListenPortInUse(t *testing.T) {
	port := listen(t, "inet:0@127.0.0.1").Addr().(*net.TCPAddr).Port
	spec := "inet:" + strconv.Itoa(port) + "@127.0.0.1"
	wantError(t, spec, "listen on "+spec+": port in use by another process", syscall.EADDRINUSE)
}

func TestListenForeignAddress(t *testing.T) {
	wantError(t, "inet:0@192.0.2.1", "not an address of this machine", syscall.EADDRNOTAVAIL)
}

func TestListenUnixModeAndGroup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	ln, err := Listen("unix:"+path, 0o660, strconv.Itoa(os.Getgid()))
	testenv.Check(t, err)
	info, err := os.Stat(path)
	testenv.Check(t, err)
	if info.Mode().Perm() != 0o660 {
		t.Errorf("mode %v", info.Mode())
	}
	if gid := info.Sys().(*syscall.Stat_t).Gid; int(gid) != os.Getgid() {
		t.Errorf("group %d", gid)
	}
	ln.Close()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket still exists after its listener: %v", err)
	}
}

// Before the group is set only root has access.
func TestBindIsClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	ln, err := bind(path)
	testenv.Check(t, err)
	defer ln.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0 {
		t.Errorf("%v, %v; want mode 0", info.Mode(), err)
	}
}

func TestListenUnknownGroup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	_, err := Listen("unix:"+path, 0o660, "no-such-group")
	if err == nil || !strings.Contains(err.Error(), `"no-such-group"`) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a socket was left behind: %v", err)
	}
}

func TestListenReplacesStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	dead := listen(t, "unix:"+path).(*net.UnixListener)
	dead.SetUnlinkOnClose(false) // like after kill -9
	dead.Close()
	live := listen(t, "unix:"+path)
	conn, err := net.Dial("unix", path)
	testenv.Check(t, err)
	conn.Close()
	live.Close()
}

func TestListenLeavesLiveSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	listen(t, "unix:"+path)
	wantError(t, "unix:"+path, "socket in use", syscall.EADDRINUSE)
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the live socket was disturbed: %v", err)
	}
	conn.Close()
}

func TestListenLeavesOtherFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail")
	testenv.Check(t, os.WriteFile(path, []byte("precious"), 0o600))
	wantError(t, "unix:"+path, "is not a socket", syscall.EADDRINUSE)
	if data, err := os.ReadFile(path); err != nil || string(data) != "precious" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestListenMissingFolder(t *testing.T) {
	wantError(t, "unix:"+filepath.Join(t.TempDir(), "no", "s.sock"), "does not exist", fs.ErrNotExist)
}

func TestParseUnix(t *testing.T) {
	for spec, want := range map[string]string{"unix:/run/s": "/run/s", "local:s": "s", "/run/s": "/run/s"} {
		if path, err := ParseUnix(spec); path != want || err != nil {
			t.Errorf("ParseUnix(%q) = %q, %v", spec, path, err)
		}
	}
	for spec, want := range map[string]string{"inet:1@1": "want unix:PATH", "s": "want unix:PATH", "127.0.0.1:1": "want unix:PATH", "unix:": "no path"} {
		if _, err := ParseUnix(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseUnix(%q): error %v, want %q", spec, err, want)
		}
	}
}

// The path is open if each folder admits the group, or all users.
func TestCheckWay(t *testing.T) {
	top := testenv.Dir(t)
	folder := filepath.Join(top, "folder")
	testenv.Check(t, os.Mkdir(folder, 0o700))
	own, other := strconv.Itoa(os.Getgid()), strconv.Itoa(os.Getgid()+1)
	for _, c := range []struct {
		top, folder fs.FileMode
		group, want string
	}{
		{0o755, 0o755, own, ""},
		{0o755, 0o750, own, ""},
		{0o755, 0o705, own, folder + ", mode 0705"},
		{0o755, 0o700, own, folder + ", mode 0700"},
		{0o711, 0o755, other, ""},
		{0o755, 0o750, other, folder + ", mode 0750"},
		{0o700, 0o755, other, top + ", mode 0700"},
		{0o755, 0o755, "no-such-group", "no group"},
	} {
		testenv.Check(t, errors.Join(os.Chmod(top, c.top), os.Chmod(folder, c.folder)))
		err := CheckWay(filepath.Join(folder, "s.sock"), c.group)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
