package main

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter"
)

// resident is the memory of a process by the kernel's account: VmRSS is that of now,
// VmHWM the most so far. Unit: bytes.
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

// imageBomb is a mail whose picture takes as many pixels as may be decoded.
func imageBomb(t *testing.T) string {
	t.Helper()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewNRGBA64(image.Rect(0, 0, 1000, 1000))); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(append(picture.Bytes(), make([]byte, 20_000)...))
}

// worst are what 1,000 connections do to take memory, each way by as many of them; the
// message does not end unless the way says so.
func worst(t *testing.T) []func(c *soakConn) {
	const packet = 60_000
	mail := milterPacket('M', "<s@example.net>\x00")
	image := imageBomb(t)
	write := func(c *soakConn, packets ...[]byte) {
		for _, p := range packets {
			if _, err := c.Conn.Write(p); err != nil { // it may be refused half-way
				return
			}
		}
	}
	repeat := func(n int, p []byte) [][]byte {
		all := make([][]byte, n)
		for i := range all {
			all[i] = p
		}
		return all
	}
	macros := "M" + strings.Repeat("n\x00\x00", packet/3)
	return []func(c *soakConn){
		func(c *soakConn) { write(c, milterPacket('D', "M"+strings.Repeat("n\x00\x00\x00\x00", (1<<20-2)/5))) },
		func(c *soakConn) { write(c, mail, milterPacket('D', macros), milterPacket('D', macros)) },
		func(c *soakConn) {
			write(c, mail, milterPacket('L', "X\x00"+strings.Repeat("x", 1_000_000)+"\x00")[:900_000])
		},
		func(c *soakConn) { write(c, mail, milterPacket('B', strings.Repeat("x", packet))[:packet]) },
		func(c *soakConn) {
			write(c, append([][]byte{mail}, repeat(10, milterPacket('R', strings.Repeat("<", packet)+"r@example.org>\x00"))...)...)
		},
		func(c *soakConn) {
			write(c, append([][]byte{mail}, repeat(2, milterPacket('L', "X\x00"+strings.Repeat("x", 1_000_000)+"\x00"))...)...)
		},
		func(c *soakConn) {
			write(c, mail, bytes.Repeat(milterPacket('L', "a\x00b\x00"), 2_000))
		},
		func(c *soakConn) {
			write(c, append([][]byte{mail}, repeat(10, milterPacket('B', strings.Repeat("x", packet)))...)...)
		},
		func(c *soakConn) {
			write(c, mail, milterPacket('L', "Content-Type\x00image/png\x00"), milterPacket('L', "Content-Transfer-Encoding\x00base64\x00"),
				milterPacket('B', image), milterPacket('E', ""))
		},
		func(c *soakConn) {
			write(c, mail, milterPacket('L', "Content-Type\x00text/html\x00"), milterPacket('B', strings.Repeat("<p>x", packet/4)), milterPacket('E', ""))
		},
	}
}

// 1,000 connections that do their worst keep the daemon below milter.max_memory and the
// constants of contrib/policy.md, by the kernel's account. Then mail is judged as before.
func TestMemoryOfThousandConnections(t *testing.T) {
	testenv.Servers(t)
	const maxMemory, connections = 64 << 20, 1000
	s := newSite(t, "one", filepath.Join(folder(t), "key"), "")
	s.configure(t, "[milter]\n", "[milter]\nmax_memory = \"64MiB\"\nmax_connections = 1001\nmax_connections_per_client = 0\n")
	s.binary = plainDaemon(t) // the race detector takes memory of its own
	s.start()
	pid := s.cmd.Process.Pid
	s.expectMail(t, text(), "clean")
	before := resident(t, pid, "VmRSS")

	ways := worst(t)
	conns := make([]*soakConn, connections)
	var all sync.WaitGroup
	for i := range conns {
		c, err := dialSoak("tcp", s.milter, 0x1fffff&^gomilter.OptSkip)
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = c
		all.Go(func() { ways[i%len(ways)](c) })
	}
	all.Wait()
	most := resident(t, pid, "VmHWM")
	bound := milter.Options{MaxMemory: maxMemory, MaxConnections: connections}.MostMemory() + imageMemory + otherMemory
	t.Logf("resident: %d MiB before, %d MiB at most; the bound is %d MiB more", before>>20, most>>20, bound>>20)
	if most > before+bound {
		t.Errorf("%d MiB resident, more than the %d MiB before and the bound of %d MiB", most>>20, before>>20, bound>>20)
	}
	for _, c := range conns {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		c.Close()
	}
	testenv.Eventually(t, "the connections are gone", func() bool {
		_, metrics := s.get("/metrics")
		return strings.Contains(metrics, "\nspambloom_milter_connections 0\n") &&
			strings.Contains(metrics, "\nspambloom_milter_memory_bytes 0\n")
	})
	s.expectMail(t, text(), "clean")
}
