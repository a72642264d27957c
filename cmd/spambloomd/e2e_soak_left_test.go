package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// processState is what a process could leak.
type processState struct {
	goroutines  float64
	descriptors []string // what each is of, sorted
}

// metric is a value that /metrics shows, without labels; -1 where it is not.
func (s *site) metric(name string) float64 {
	s.t.Helper()
	_, text := s.get("/metrics")
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return n
		}
	}
	return -1
}

func (r *soakRun) metric(name string) float64 { return r.site.metric(name) }

// numbers differ from one descriptor to the next of its kind.
var numbers = regexp.MustCompile(`[0-9]+`)

// descriptors are what a process has open.
func descriptors(t *testing.T, pid int) (open []string) {
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
func (s *site) quiet() (p processState) {
	s.t.Helper()
	if s.reporter != nil {
		s.reporter.Close() // its connections are kept else
	}
	p.goroutines = s.metric("go_goroutines")
	p.descriptors = descriptors(s.t, s.cmd.Process.Pid)
	return p
}

// quiet is the state after each part of the daemon has worked once: some goroutines of
// the runtime begin only then, and stay. Parts that have something to do now and then
// make the number vary a little, so the most that is seen in a second counts.
func (r *soakRun) quiet() (most processState) {
	r.t.Helper()
	for i := range 4 {
		if err := r.client(i, nil).connection(); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := r.reporter(nil).turn(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	r.hangUp(r.random(soakConns + 2))
	eventually(r.t, "the hangup is answered", func() bool { return r.log.reloaded() == r.hups })
	for range 10 {
		if now := r.site.quiet(); now.goroutines > most.goroutines || most.descriptors == nil {
			most = now
		}
		time.Sleep(100 * time.Millisecond)
	}
	return most
}

// expectNothingLeft holds that no more is open than before.
func (r *soakRun) expectNothingLeft(before processState) {
	r.t.Helper()
	r.site.expectNoMore(before)
}

func (s *site) expectNoMore(before processState) {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		now := s.quiet()
		if now.goroutines <= before.goroutines && len(now.descriptors) <= len(before.descriptors) {
			s.t.Logf("%v goroutines, %v before; %d descriptors, %d before",
				now.goroutines, before.goroutines, len(now.descriptors), len(before.descriptors))
			return
		}
		if time.Now().After(end) {
			s.t.Errorf("left behind: %v goroutines, %v before; descriptors%s, before%s",
				now.goroutines, before.goroutines, count(now.descriptors), count(before.descriptors))
			return
		}
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
