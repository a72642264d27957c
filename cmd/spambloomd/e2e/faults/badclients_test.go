package faults

import (
	"context"
	"encoding/binary"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A thousand clients send garbage, stop in the middle or send nothing. Afterwards mail gets
// its verdict, and the daemon is unharmed.
func TestThousandBadClients(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	s.Configure(t, "[milter]\n", "[milter]\nmax_connections_per_client = 0\n") // all connect from loopback
	s.Start()
	p := harness.StartPostfix(t, "one", s.Milter)
	negotiate := append([]byte{0, 0, 0, 13, 'O'}, make([]byte, 12)...)
	binary.BigEndian.PutUint32(negotiate[5:], 6)
	openings := [][]byte{
		nil,                              // silence
		[]byte("GET / HTTP/1.1\r\n\r\n"), // garbage: a length of 1.2 GB
		{0, 0, 0, 0},                     // a packet without a command
		{0xff, 0xff, 0xff, 0xff, 'O'},    // a length of 4 GiB
		negotiate[:7],                    // half a packet
		negotiate,                        // followed by silence
		append(negotiate[:17:17], 0, 0, 0, 1, 'U'),
		append(negotiate[:17:17], 0, 0, 0, 9, 'M', '<', 'a'), // stalled in MAIL
	}
	var conns []net.Conn
	for i := range 1100 { // 1,000 is the limit
		var d net.Dialer
		ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
		conn, err := d.DialContext(ctx, "tcp", s.Milter)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		_, _ = conn.Write(openings[i%len(openings)]) // the daemon may have hung up
	}
	for _, conn := range conns {
		conn.Close()
	}
	testenv.Eventually(t, "the connections are gone", func() bool {
		_, metrics := s.Get("/metrics")
		return strings.Contains(metrics, "\nspambloom_milter_connections 0\n")
	})
	harness.ExpectVerdict(t, p.Send(harness.Message(harness.Text())), "clean", 1, "one")
	if status, _ := s.Get("/readyz"); status != 200 {
		t.Errorf("/readyz: %d", status)
	}
	if code := s.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.Log())
	}
}
