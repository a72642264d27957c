package page_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/page/pagetest"
)

// A visitor searches with the longest text that a header may have: it is not folded again for
// each signature of all mail that is remembered.
func TestLongSearch(t *testing.T) {
	site := pagetest.New(t)
	for i := range 1000 {
		site.Judge(pagetest.Now, fmt.Sprint("Q", i), "clean", desktest.Letter(i, 0))
	}
	v := newVisit(t, site)
	for _, path := range []string{"/mail", "/campaigns"} {
		long := path + "?q=" + strings.Repeat("A", 15_000)
		v.get(long)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 10 {
			v.get(long)
		}
		runtime.ReadMemStats(&after)
		if bytes := (after.TotalAlloc - before.TotalAlloc) / 10; bytes > 4<<20 {
			t.Errorf("%s takes %d bytes", path, bytes)
		}
	}
}

// One user's uploads do not take the places of others, and those of users not the place of root.
func TestPlacesOfUploads(t *testing.T) {
	site := pagetest.New(t)
	others := []*visit{signedIn(t, site, "mallory", user), signedIn(t, site, "anna", user), signedIn(t, site, "bert", user)}
	root := signedIn(t, site, "root", pagetest.Root)
	forms := map[*visit]string{}
	for _, v := range append(others, root) {
		forms[v] = v.form()
	}
	slow := func(v *visit) (status chan int, end func()) {
		r, w := io.Pipe()
		status = make(chan int, 1)
		go func() {
			post := httptest.NewRequest("POST", "/explain", r)
			post.Header.Set("Content-Type", "multipart/form-data; boundary=b")
			status <- v.do(post).Code
		}()
		return status, func() { w.Close() }
	}
	upload := func(v *visit) int {
		return v.upload([2]string{"form", forms[v]}, [2]string{"source", message(1)}).Code
	}
	first, end := slow(others[0])
	time.Sleep(100 * time.Millisecond) // it has its place
	for i, want := range []int{429, 200} {
		if got := upload(others[i]); got != want {
			t.Errorf("user %d while mallory uploads: %d, want %d", i, got, want)
		}
	}
	second, end2 := slow(others[1])
	time.Sleep(100 * time.Millisecond)
	if got := upload(others[2]); got != 429 {
		t.Errorf("a third user: %d", got)
	}
	if got := upload(root); got != 200 {
		t.Errorf("root while users upload: %d", got)
	}
	end()
	end2()
	<-first
	<-second
	if got := upload(others[0]); got != 200 {
		t.Errorf("afterwards: %d", got)
	}
}
