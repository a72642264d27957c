package server

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
)

// slowBody has all but the end of the largest request, and waits with that.
type slowBody struct {
	io.Reader
	arrived func()
	end     <-chan struct{}
}

func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		b.arrived()
		<-b.end
	}
	return n, err
}

// Many users who send large requests slowly do not take more memory than the control API may have.
func TestMemoryOfSlowRequests(t *testing.T) {
	h, _ := accessOf(t, &AccessOptions{DaemonUID: 100})
	content := bytes.Repeat([]byte(" "), api.MaxBody-1)
	content[0] = '{'
	end := make(chan struct{})
	var all, arrived sync.WaitGroup
	var once [256]sync.Once
	for i := range 256 {
		arrived.Add(1)
		done := func() { once[i].Do(arrived.Done) }
		all.Go(func() {
			r := httptest.NewRequest("POST", "/v1/check", &slowBody{bytes.NewReader(content), done, end})
			h.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithValue(r.Context(), originKey{}, process(100_000+i/8))))
			done()
		})
	}
	arrived.Wait()
	time.Sleep(time.Second)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if most := uint64(100 << 20); m.HeapAlloc > most {
		t.Errorf("%d MiB", m.HeapAlloc>>20)
	}
	close(end)
	all.Wait()
}

// slowAnswer is the reader of an answer who waits with it.
type slowAnswer struct {
	*httptest.ResponseRecorder
	arrived func()
	end     <-chan struct{}
}

func (a *slowAnswer) Write(p []byte) (int, error) {
	a.arrived()
	<-a.end
	return a.ResponseRecorder.Write(p)
}

// Many users who ask for lists of reports, and read them slowly, have few of them in memory at once.
func TestSlowListsAreFew(t *testing.T) {
	for _, path := range []string{string(v1.Reports), string(v1.Lookup)} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			h, _ := accessOf(t, &AccessOptions{DaemonUID: 100})
			const requests, users = 64, 16
			end, arrived := make(chan struct{}), make(chan int, requests) // whose; 0: refused
			var all sync.WaitGroup
			for i := range requests {
				user := 100_000 + i%users
				all.Go(func() {
					a := &slowAnswer{ResponseRecorder: httptest.NewRecorder(), end: end}
					a.arrived = func() {
						if a.Code == http.StatusTooManyRequests {
							arrived <- 0
							return
						}
						arrived <- user
					}
					r := httptest.NewRequest("POST", path, strings.NewReader(`{"signatures":[]}`))
					h.ServeHTTP(a, r.WithContext(context.WithValue(r.Context(), originKey{}, process(user))))
				})
			}
			lists, of := 0, map[int]int{}
			for range requests {
				if user := <-arrived; user != 0 {
					lists++
					of[user]++
				}
			}
			if lists != maxLarge || slices.Max(slices.Collect(maps.Values(of))) > maxLargeOfUser {
				t.Errorf("%d lists at once, by user: %v", lists, of)
			}
			close(end)
			all.Wait()
		})
	}
}
