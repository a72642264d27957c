package milter

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// TestTinyPackets is the attack "tiny packets": connections send packets of some bytes without end, which need no
// turn. Other mail does not wait until each of them has had a processor for as long as Go lets it.
func TestTinyPackets(t *testing.T) {
	oneProcessor(t)
	b := start(t, Options{}, nil)
	knownSpam(t, b)
	const connections = 40
	packets := []byte(strings.Repeat("\x00\x00\x00\x02DM", 10_000))
	var sent atomic.Int64
	var all sync.WaitGroup
	var wires []*wire
	for range connections {
		w := dialWire(t, b.addr, offerWait&^gomilter.OptSkip)
		w.send('C', "h\x004\x00\x19198.51.100.1\x00")
		wires = append(wires, w)
		all.Go(func() {
			for {
				n, err := w.Write(packets)
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		})
	}
	testenv.Eventually(t, "the packets flow", func() bool { return sent.Load() > connections<<20 })
	before := sent.Load()
	expectSpam(t, b, "203.0.113.9")
	if beside := sent.Load() - before; beside > connections<<20 { // some 5 MB; 150 MB if each has its 10 ms
		t.Errorf("%.1f MB of packets beside one mail", float64(beside)/1e6)
	}
	for _, w := range wires {
		w.Close()
	}
	all.Wait()
}
