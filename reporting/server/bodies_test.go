package server

import (
	"bytes"
	"context"
	"io"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
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
