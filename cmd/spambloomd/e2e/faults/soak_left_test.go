package faults

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// processState is what a process could leak.
type processState struct {
	goroutines  float64
	descriptors []string // what each is of, sorted
	heap        float64  // bytes of Go's heap that are in use
}

func (r *soakRun) metric(name string) float64 { return r.site.Metric(name) }

// numbers differ from one descriptor to the next of its kind.
var numbers = regexp.MustCompile(`[0-9]+`)

// descriptors are what a process has open.
func descriptors(t testing.TB, pid int) (open []string) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			open = append(open, numbers.ReplaceAllString(target, "N"))
		}
	}
	slices.Sort(open)
	return open
}

// quiet is the daemon's state while nobody is connected but this question.
func quiet(s *harness.Site) (p processState) {
	s.T.Helper()
	if s.Reporter != nil {
		s.Reporter.Close() // its connections are kept else
	}
	p.goroutines = s.Metric("go_goroutines")
	p.descriptors = descriptors(s.T, s.Cmd.Process.Pid)
	return p
}

// quiet is the state after each part of the daemon has worked once: some goroutines of
// the runtime begin only then, and stay. Parts that have something to do now and then
// make the number vary a little, so the most that is seen in a second counts.
func (r *soakRun) quiet() (most processState) {
	r.t.Helper()
	for i := range 4 {
		c := r.client(i, nil)
		c.pace, c.longest = 20*time.Millisecond, 40*time.Millisecond
		if err := c.connection(); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := r.reporter(nil).turn(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	r.hangUp(r.random(soakConns + 2))
	testenv.Eventually(r.t, "the hangup is answered", func() bool { return r.log.reloaded() == r.hups })
	for range 10 {
		if now := quiet(r.site); now.goroutines > most.goroutines || most.descriptors == nil {
			most = now
		}
		time.Sleep(100 * time.Millisecond)
	}
	most.heap = r.settledHeap()
	return most
}

// settledHeap is what Go's heap holds while there is nothing to do, in bytes. The
// garbage of a few collections is made of messages that are broken off, as no judgement
// may use what pools keep: it is gone after two. The goal of a collection is twice what
// the one before has left.
func (r *soakRun) settledHeap() float64 {
	r.t.Helper()
	c, least := r.client(soakConns+2, nil), math.Inf(1)
	conn, err := dialSoak(c.network, c.address, soakOffers[0])
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	body := strings.Repeat("x", gomilter.MaxBodyChunk) // the most that is in use by that
	late := time.Now().Add(testenv.Patience)
	for end := r.metric("go_gc_duration_seconds_count") + 8; r.metric("go_gc_duration_seconds_count") < end; {
		for range 20 {
			steps := r.post.plain(c.random, body, "").steps(conn.silent)
			_, err := conn.play(steps[:len(steps)-1], func() {})
			if err = errors.Join(err, conn.write(harness.MilterPacket(byte(gomilter.CodeAbort)))); err != nil {
				r.t.Fatal(err)
			}
		}
		least = min(least, r.metric("go_memstats_next_gc_bytes")/2)
		if time.Now().After(late) {
			r.t.Fatal("nothing is collected")
		}
	}
	return least
}

// heapSlack is how much more may be in use after the traffic: what the runtime and
// maps keep of the most that there was at a time. Unit: bytes.
const heapSlack = 3 << 20

// expectNothingLeft holds that no more is open than before, and that no memory is held
// for messages, reports, connections and reloads of the past.
func (r *soakRun) expectNothingLeft(before processState) {
	r.t.Helper()
	expectNoMore(r.site, before)
	heap := r.settledHeap()
	for end := time.Now().Add(testenv.Patience); heap > before.heap+heapSlack && time.Now().Before(end); {
		heap = r.settledHeap() // on a disk that stalls, the last reports are still being written
	}
	r.t.Logf("%.0f kB of heap in use, %.0f before", heap/1000, before.heap/1000)
	if heap > before.heap+heapSlack {
		r.t.Error("memory is left behind")
	}
}

// few goroutines more are parts that have something to do just now. What is left behind
// by connections comes by the dozen.
const few = 3

func expectNoMore(s *harness.Site, before processState) {
	s.T.Helper()
	var now processState
	less := testenv.Becomes(func() bool {
		now = quiet(s)
		return now.goroutines <= before.goroutines+few && len(now.descriptors) <= len(before.descriptors)
	})
	s.T.Logf("%v goroutines, %v before; %d descriptors, %d before",
		now.goroutines, before.goroutines, len(now.descriptors), len(before.descriptors))
	if !less {
		s.T.Errorf("left behind: descriptors%s, before%s", count(now.descriptors), count(before.descriptors))
	}
}

// count is how often each text is in the list.
func count(list []string) string {
	times := map[string]int{}
	for _, text := range list {
		times[text]++
	}
	var b strings.Builder
	for _, text := range slices.Sorted(maps.Keys(times)) {
		fmt.Fprintf(&b, " %d %s", times[text], text)
	}
	return b.String()
}
