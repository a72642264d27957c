package socket_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/spambloom/spambloom/cmd/internal/socket"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// systemd can pass sockets that never accept a stream. They are refused: otherwise they would be served without an
// error, and no mail would be judged.
func TestFileListener(t *testing.T) {
	open := func(kind int, listen bool) *os.File {
		fd, err := unix.Socket(unix.AF_UNIX, kind, 0)
		testenv.Check(t, err)
		testenv.Check(t, unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(t.TempDir(), "s")}))
		if listen {
			testenv.Check(t, unix.Listen(fd, 1))
		}
		return os.NewFile(uintptr(fd), "socket")
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	testenv.Check(t, err)
	unix.Close(pair[1])
	for name, c := range map[string]struct {
		file *os.File
		want bool
	}{
		"listens":      {open(unix.SOCK_STREAM, true), true},
		"only bound":   {open(unix.SOCK_STREAM, false), false},
		"datagrams":    {open(unix.SOCK_DGRAM, false), false},
		"packets":      {open(unix.SOCK_SEQPACKET, true), false},
		"is connected": {os.NewFile(uintptr(pair[0]), "pair"), false},
	} {
		var ln net.Listener
		ln, err = socket.FileListener(c.file)
		if (err == nil) != c.want {
			t.Errorf("%s: error %v, want a listener: %v", name, err, c.want)
		}
		if err == nil {
			ln.Close()
		}
		c.file.Close()
	}
}
