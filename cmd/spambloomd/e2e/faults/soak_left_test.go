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
	"sync"
	"testing"
	"time"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/judged"
)

// processState is the state in which a process could leak resources.
type processState struct {
	goroutines  float64
	descriptors []string // type of each, sorted
	heap        float64  // bytes of Go's heap in use
}

func (r *soakRun) metric(name string) float64 { return r.site.Metric(name) }

// numbers are replaced, because they differ between descriptors of one type.
var numbers = regexp.MustCompile(`[0-9]+`)

// descriptors returns the open descriptors of a process.
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

// quiet returns the daemon's state while nothing is connected except this request.
func quiet(s *harness.Site) (p processState) {
	s.T.Helper()
	if s.Reporter != nil {
		s.Reporter.Close() // otherwise its connections stay open
	}
	p.goroutines = s.Metric("go_goroutines")
	p.descriptors = descriptors(s.T, s.Cmd.Process.Pid)
	return p
}

// quiet returns the state after each part of the daemon has worked once: some goroutines of
// the runtime start only then, and stay. The number varies slightly with periodic work, so
// the maximum over a second counts.
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
	if testenv.Soak() {
		r.fillRemembered()
	}
	r.hangUp(r.random(soakConns + 2))
	testenv.Eventually(r.t, "the reload is logged", func() bool { return r.log.reloaded() == r.hups })
	for range 10 {
		if now := quiet(r.site); now.goroutines > most.goroutines || most.descriptors == nil {
			most = now
		}
		time.Sleep(100 * time.Millisecond)
	}
	most.heap = r.settledHeap()
	return most
}

// fillRemembered sends as many messages as the daemon remembers, so that later ones take the place
// of these. Each takes at least 512 bytes of judged.MaxMemory there.
func (r *soakRun) fillRemembered() {
	const clients = 8
	var all sync.WaitGroup
	for i := range clients {
		c := r.client(soakConns+3+i, nil)
		c.mayBeLocal, c.host = false, "192.0.2.250"
		all.Go(func() {
			conn, err := dialSoak(c.network, c.address, soakOffers[0])
			if err == nil {
				defer conn.Close()
				_, err = conn.play(soakGreeting(c.host), func() {})
			}
			for i := 0; i < judged.MaxMemory/512/clients && err == nil; i++ {
				err = c.whole(conn)
			}
			if err != nil {
				r.t.Error(err)
			}
		})
	}
	all.Wait()
}

// settledHeap returns the size of Go's heap at rest, in bytes. Aborted messages create the
// garbage for a few collections: judging would reuse what pools keep, which is freed after
// two. The goal of a collection is twice the heap after the previous one, with what was
// allocated during it: some MB of these messages. Therefore only collections among them count,
// before the traffic as after it.
func (r *soakRun) settledHeap() float64 {
	r.t.Helper()
	c, least := r.client(soakConns+2, nil), math.Inf(1)
	conn, err := dialSoak(c.network, c.address, soakOffers[0])
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	body := strings.Repeat("x", gomilter.MaxBodyChunk) // the most used by that
	collections, enough := func() float64 { return r.metric("go_gc_duration_seconds_count") }, 4.0
	if testenv.Soak() {
		enough = 8 // each needs as much garbage as the heap has
	}
	begin, last, late := collections(), 0.0, time.Time{}
	for now := begin; now < begin+enough; now = collections() {
		if now > last {
			last, late = now, time.Now().Add(testenv.Patience) // for the next one
		}
		for range 20 {
			steps := r.post.plain(c.random, body, "").steps(conn.silent)
			_, err := conn.play(steps[:len(steps)-1], func() {})
			if err = errors.Join(err, conn.write(harness.MilterPacket(byte(gomilter.CodeAbort)))); err != nil {
				r.t.Fatal(err)
			}
		}
		if now >= begin+2 {
			least = min(least, r.metric("go_memstats_next_gc_bytes")/2)
		}
		if time.Now().After(late) {
			r.t.Fatal("nothing is collected")
		}
	}
	return least
}

// heapSlack is how much more may be in use after the traffic: memory that the runtime and
// maps keep from the peak. Unit: bytes.
const heapSlack = 3 << 20

// expectNothingLeft checks that no more descriptors are open than before, and that no
// memory is held for earlier messages, reports, connections and reloads.
func (r *soakRun) expectNothingLeft(before processState) {
	r.t.Helper()
	expectNoMore(r.site, before)
	heap := r.settledHeap()
	for end := time.Now().Add(testenv.Patience); heap > before.heap+heapSlack && time.Now().Before(end); {
		heap = r.settledHeap() // on a slow disk, the last reports are still being written
	}
	r.t.Logf("%.0f kB of heap in use, %.0f before", heap/1000, before.heap/1000)
	if heap > before.heap+heapSlack {
		r.t.Error("memory leaked")
	}
}

// few is how many additional goroutines periodic work may explain. Leaks by connections
// come in dozens.
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
		s.T.Errorf("leaked: descriptors%s, before%s", count(now.descriptors), count(before.descriptors))
	}
}

// count returns how often each text is in the list.
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
