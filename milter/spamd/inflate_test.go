package spamd_test

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/milter/spamd"
)

// emptyBlock is a stored block of DEFLATE without data. A client can send such blocks without end,
// and none of them becomes a byte of the message.
const emptyBlock = "\x00\x00\x00\xff\xff"

// TestInflatingWithoutEnd is the attack "empty blocks": twenty clients send compressed data without
// end, and another one stops in the middle of a message. Never are two decompressed at a time, so
// mail keeps at least half of a processor. A compressed message is still judged.
func TestInflatingWithoutEnd(t *testing.T) {
	s := start(t, milter.Options{}, spamd.Options{})
	blocks := strings.Repeat(emptyBlock, 4<<10)
	var sent atomic.Int64
	begin := func() io.Writer {
		c := s.dial(t)
		if _, err := fmt.Fprintf(c, "CHECK SPAMC/1.5\r\nCompress: zlib\r\n\r\n\x78\x9c%s", emptyBlock); err != nil {
			t.Fatal(err)
		}
		return c
	}
	begin() // and sends no more
	for range 20 {
		c := begin()
		go func() { // it ends when the connection is closed
			for {
				n, err := io.WriteString(c, blocks)
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		}()
	}
	testenv.Eventually(t, "1 MiB of blocks", func() bool { return sent.Load() > 1<<20 })
	most := 0
	for range 100 {
		most = max(most, inflatingNow())
	}
	if most > 1 {
		t.Errorf("up to %d messages were decompressed at a time", most)
	}
	if got := s.ask(t, command("CHECK SPAMC/1.5", deflated(t, []byte(mail)), "Compress: zlib")); !strings.HasPrefix(got, "SPAMD/1.1 0 EX_OK") {
		t.Errorf("a compressed message meanwhile: %q", got)
	}
}

var runnable = regexp.MustCompile(`^goroutine \d+ \[(running|runnable)`)

// inflatingNow returns how many goroutines decompress, and do not wait for data or for their place.
func inflatingNow() (n int) {
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	for stack := range bytes.SplitSeq(all, []byte("\n\n")) {
		if runnable.Match(stack) && bytes.Contains(stack, []byte("compress/flate.")) && !bytes.Contains(stack, []byte("spamd.waiting.Read")) {
			n++
		}
	}
	return n
}
