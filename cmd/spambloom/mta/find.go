package mta

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/cmd/internal/socket"
)

// Read returns the mail server of this machine, of the folders with its configuration; nil:
// none is known. Postfix is asked first.
func Read(ctx context.Context, postfix, sendmail string) *Server {
	if s, err := ReadPostfix(ctx, postfix); err == nil {
		return s
	}
	if s, err := ReadSendmail(sendmail); err == nil {
		return s
	}
	return nil
}

// Find returns the index of the milter that is a daemon with these addresses, or -1.
func (s *Server) Find(daemon []string) int {
	return slices.IndexFunc(s.Milters, func(m Milter) bool { return m.isAt(daemon) })
}

// isAt reports whether a milter is a daemon with these addresses. A socket passed by systemd has
// a name and no address, and is known by its path's last parts.
func (m Milter) isAt(daemon []string) bool {
	for _, spec := range daemon {
		network, address, err := socket.Parse(spec)
		if err != nil {
			continue
		}
		if network == "unix" && m.Path != "" && sameFile(address, m.Path) {
			return true
		}
		if there, at, err := socket.Parse(m.Spec); network != "unix" && err == nil && there != "unix" && sameEndpoint(address, at) {
			return true
		}
	}
	return strings.HasSuffix(m.Path, "/spambloom/milter.sock")
}

func sameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	one, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}

func sameEndpoint(a, b string) bool {
	host, port, err := net.SplitHostPort(a)
	otherHost, otherPort, otherErr := net.SplitHostPort(b)
	local := func(h string) bool {
		return h == "localhost" || h == "0.0.0.0" || h == "::1" || strings.HasPrefix(h, "127.")
	}
	return err == nil && otherErr == nil && port == otherPort && (host == otherHost || local(host) && local(otherHost))
}
