package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting"
)

// varied is a text in which some words are others: another copy of a campaign.
func varied(text string) string {
	lines := strings.SplitAfter(text, "\r\n")
	for i := range lines {
		if i%3 == 1 {
			lines[i] = strings.Replace(lines[i], " ", " unforeseen ", 1)
		}
	}
	return strings.Join(lines, "")
}

// A revocation at one site brings a message back on all of them, and its
// near-duplicates, which nobody reported and nobody revoked.
func TestRevocationActsOnAllSites(t *testing.T) {
	t.Parallel()
	sites := startHosts(t, startRedis(t), "mx1", "mx2", "mx3")
	var took []time.Duration
	for i := range 20 {
		reported := text()
		copies := []reporting.Request{request(reported), request(varied(reported))}
		reporter, revoker := sites[i%3], sites[(i+1)%3]
		if _, err := reporter.Report(t.Context(), copies[0]); err != nil {
			t.Fatal(err)
		}
		for _, site := range sites {
			for _, copy := range copies {
				eventually(t, "the message and its near-duplicate are spam", func() bool { return verdict(t, site, copy) == "spam" })
			}
		}
		begin := time.Now()
		if _, err := revoker.Revoke(t.Context(), copies[0]); err != nil {
			t.Fatal(err)
		}
		var asking sync.WaitGroup
		times := make([]time.Duration, len(sites)*len(copies))
		for s, site := range sites {
			for c, copy := range copies {
				asking.Go(func() {
					for time.Since(begin) < patience && verdict(t, site, copy) != "clean" {
						time.Sleep(2 * time.Millisecond) // between two questions
					}
					times[s*len(copies)+c] = time.Since(begin)
				})
			}
		}
		asking.Wait()
		took = append(took, times...)
	}
	t.Logf("revocation at one site until clean at each: %s", quantiles(took))
	bound := patience
	if figures { // without the race detector, and nothing beside it
		bound = 2 * time.Second
	}
	for _, d := range took {
		if d >= bound {
			t.Errorf("a message was still spam after %v", d)
		}
	}
}

func verdict(t *testing.T, site *reporting.Client, r reporting.Request) string {
	answer, err := site.Check(t.Context(), r)
	if err != nil {
		t.Error(err)
	}
	return answer.Verdict
}

// A full disk: nothing is acknowledged, the daemon says why and goes on judging, and
// once there is room it takes reports again. What it acknowledged is never lost.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t, "mx1", filepath.Join(folder(t), "key"), "")
	state := filepath.Join(s.dir, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("tmpfs", state, "tmpfs", 0, "size=64m")
	need(t, err == nil, "the right to mount a tmpfs (root)")
	t.Cleanup(func() {
		s.stop(syscall.SIGKILL)
		if err := syscall.Unmount(state, 0); err != nil {
			t.Error(err)
		}
	})
	client := s.start().client()
	var acknowledged []string
	report := func() error {
		body := text()
		_, err := client.Report(t.Context(), request(body))
		if err == nil {
			acknowledged = append(acknowledged, body)
		}
		return err
	}
	for range 20 {
		if err := report(); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 3 {
		filler := fill(t, state)
		var refused error
		for i := 0; i < 2000 && refused == nil; i++ { // what was set aside before is used up first
			refused = report()
		}
		if refused == nil || !strings.Contains(refused.Error(), "no space left on device") {
			t.Fatalf("round %d: a full disk says %v", round, refused)
		}
		for _, body := range acknowledged {
			if v := verdict(t, client, request(body)); v != "spam" {
				t.Fatalf("round %d: while the disk is full, a reported message is %s", round, v)
			}
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		eventually(t, "reports are taken again", func() bool { return report() == nil })
	}
	s.stop(syscall.SIGKILL)
	client = s.start().client()
	for _, body := range acknowledged {
		if v := verdict(t, client, request(body)); v != "spam" {
			t.Errorf("after a kill -9, a report that was acknowledged is %s", v)
		}
	}
	t.Logf("%d reports were acknowledged around three full disks", len(acknowledged))
}

// fill takes all room that is left in a folder.
func fill(t *testing.T, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, block := range []int{1 << 20, 4 << 10, 1} {
		for err == nil {
			_, err = f.Write(make([]byte, block))
		}
		if !strings.Contains(err.Error(), "no space left") {
			t.Fatal(err)
		}
		err = nil
	}
	return path
}
