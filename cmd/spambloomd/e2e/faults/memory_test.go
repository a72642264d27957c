package faults

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// resident returns the memory of a process according to the kernel: VmRSS is the current
// value, VmHWM the maximum so far. Unit: bytes.
func resident(t *testing.T, pid int, field string) int64 {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + field + `:\s+(\d+) kB$`).FindSubmatch(status)
	if m == nil {
		t.Fatalf("no %s in %s", field, status)
	}
	kB, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kB << 10
}

// imageBomb is a mail whose picture has the maximum number of pixels that are decoded.
func imageBomb(t *testing.T) string {
	t.Helper()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewNRGBA64(image.Rect(0, 0, 1000, 1000))); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(append(picture.Bytes(), make([]byte, 20_000)...))
}

// worst lists the ways in which 1,000 connections use memory, each way by the same number
// of them. Their message does not end unless the way sends its end. The packets of a way are made
// once: the test would otherwise need more of the processor than the daemon.
func worst(t *testing.T) []func(c *soakConn) {
	const packet = 60_000
	mail := harness.MilterPacket('M', "<s@example.net>\x00")
	macros := harness.MilterPacket('D', "M"+strings.Repeat("n\x00\x00", packet/3))
	header := harness.MilterPacket('L', "X\x00"+strings.Repeat("x", 1_000_000)+"\x00")
	body := harness.MilterPacket('B', strings.Repeat("x", packet))
	recipient := harness.MilterPacket('R', strings.Repeat("<", packet)+"r@example.org>\x00")
	end := harness.MilterPacket('E', "")
	return []func(c *soakConn){
		sending(harness.MilterPacket('D', "M"+strings.Repeat("n\x00\x00\x00\x00", (1<<20-2)/5))),
		sending(mail, macros, macros),
		sending(mail, header[:900_000]),
		sending(mail, body[:packet]),
		sending(append([][]byte{mail}, slices.Repeat([][]byte{recipient}, 10)...)...),
		sending(mail, header, header),
		sending(mail, bytes.Repeat(harness.MilterPacket('L', "a\x00b\x00"), 2_000)),
		sending(append([][]byte{mail}, slices.Repeat([][]byte{body}, 10)...)...),
		sending(mail, harness.MilterPacket('L', "Content-Type\x00image/png\x00"), harness.MilterPacket('L', "Content-Transfer-Encoding\x00base64\x00"),
			harness.MilterPacket('B', imageBomb(t)), end),
		sending(mail, harness.MilterPacket('L', "Content-Type\x00text/html\x00"), harness.MilterPacket('B', strings.Repeat("<p>x", packet/4)), end),
	}
}

// sending returns a way that sends packets.
func sending(packets ...[]byte) func(c *soakConn) {
	return func(c *soakConn) {
		for _, p := range packets {
			if _, err := c.Conn.Write(p); err != nil { // it may be refused half-way
				return
			}
		}
	}
}

// statedMemory returns the sum of the table "Memory" in contrib/policy.md, for the
// defaults. Unit: bytes.
func statedMemory(t *testing.T) (sum int64) {
	t.Helper()
	_, section, _ := strings.Cut(harness.GuidePage(t, "policy.md"), "### Memory")
	section, _, _ = strings.Cut(section, "\n#")
	rows := regexp.MustCompile(`(?m)^\|.*\| (\d+) MiB \|$`).FindAllStringSubmatch(section, -1)
	if len(rows) != 6 {
		t.Fatalf("%d rows of the table, want 6", len(rows))
	}
	for _, row := range rows {
		n, err := strconv.ParseInt(row[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += n << 20
	}
	return sum
}

// With 1,000 connections at their worst, the daemon stays below milter.max_memory plus the
// constants of contrib/policy.md, according to the kernel; in a soak they go on for five
// minutes. Afterwards mail is judged as before.
func TestMemoryOfThousandConnections(t *testing.T) {
	testenv.Servers(t)
	const maxMemory, connections = 64 << 20, 1000
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	s.Configure(t, "[milter]\n", "[milter]\nmax_memory = \"64MiB\"\nmax_connections = 1001\nmax_connections_per_client = 0\n")
	// Otherwise the daemon of all tests stays below the same bound, with the race detector's own memory.
	if testenv.Soak() {
		s.Binary = harness.PlainProgram(t, "spambloomd")
	}
	s.Start()
	pid := s.Cmd.Process.Pid
	expectMail(s, t, harness.Text(), "clean")
	before := resident(t, pid, "VmRSS")

	ways := worst(t)
	conns := make([]*soakConn, connections)
	var all sync.WaitGroup
	for i := range conns {
		c, err := dialSoak("tcp", s.Milter, offeredToWorst)
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = c
		all.Go(func() { ways[i%len(ways)](c) })
	}
	all.Wait()
	if testenv.Soak() {
		insist(t, s, conns, ways)
	}
	most := resident(t, pid, "VmHWM")
	bound := statedMemory(t) - 320<<20 + maxMemory
	t.Logf("resident: %d MiB before, %d MiB at most; the bound is %d MiB more", before>>20, most>>20, bound>>20)
	if most > before+bound {
		t.Errorf("%d MiB resident, more than the %d MiB before and the bound of %d MiB", most>>20, before>>20, bound>>20)
	}
	for _, c := range conns {
		c.reset()
	}
	testenv.Eventually(t, "the connections are gone", func() bool {
		_, metrics := s.Get("/metrics")
		return strings.Contains(metrics, "\nspambloom_milter_connections 0\n") &&
			strings.Contains(metrics, "\nspambloom_milter_memory_bytes 0\n")
	})
	expectMail(s, t, harness.Text(), "clean")
}

// offeredToWorst asks for no answers but that to a message's end.
const offeredToWorst = 0x1fffff &^ gomilter.OptSkip

// insist repeats the ways for five minutes, each connection its own: it ends after at most
// eight rounds, with its message in the middle, and another takes its place.
func insist(t *testing.T, s *harness.Site, conns []*soakConn, ways []func(c *soakConn)) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for i := range conns {
		random := rand.New(rand.NewPCG(uint64(i), 0))
		all.Go(func() {
			for ctx.Err() == nil {
				conns[i].reset()
				c, err := dialSoak("tcp", s.Milter, offeredToWorst)
				if err != nil {
					continue
				}
				conns[i] = c
				go io.Copy(io.Discard, c) // ends with the connection
				for range 1 + random.IntN(8) {
					_ = c.SetWriteDeadline(time.Now().Add(testenv.Patience)) // the writes return the error
					ways[i%len(ways)](c)
					_, _ = c.Write(harness.MilterPacket(byte(gomilter.CodeAbort), ""))
				}
			}
		})
	}
	for ctx.Err() == nil {
		select {
		case <-time.After(30 * time.Second):
			t.Logf("resident: %d MiB", resident(t, s.Cmd.Process.Pid, "VmRSS")>>20)
		case <-ctx.Done():
		}
	}
	all.Wait()
}

// reset closes the connection at once, with what is on its way.
func (c *soakConn) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}
