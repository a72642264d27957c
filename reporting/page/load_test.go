package page_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"os"
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

// TestPlacesOfForms is the attack "large forms": a user sends as many large forms as there are
// connections. In memory each is several times as large, so they take places, as messages do. Small
// forms need none.
func TestPlacesOfForms(t *testing.T) {
	site := pagetest.New(t)
	mallory, anna, root := signedIn(t, site, "mallory", user), signedIn(t, site, "anna", user), signedIn(t, site, "root", pagetest.Root)
	form := map[*visit]string{mallory: mallory.form(), anna: anna.form(), root: root.form()}
	act := func(v *visit, padding int) int {
		return v.act(url.Values{"form": {form[v]}, "do": {"report"}, "class": {"phish"}, "message": {message(1)}, "x": {strings.Repeat("x", padding)}}, nil).Code
	}
	const large = 100 << 10
	if got := act(mallory, large); got != 200 {
		t.Errorf("a large form: %d", got)
	}
	r, w := io.Pipe()
	status := make(chan int, 1)
	go func() {
		post := httptest.NewRequest("POST", "/act", r) // of unknown length
		post.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		status <- mallory.do(post).Code
	}()
	if _, err := io.WriteString(w, "form="); err != nil { // read: it has its place
		t.Fatal(err)
	}
	for name, got := range map[string][2]int{
		"mallory's second large form": {act(mallory, large), 429},
		"mallory's small form":        {act(mallory, 0), 200},
		"anna's large form":           {act(anna, large), 200},
		"root's large form":           {act(root, large), 200},
	} {
		if got[0] != got[1] {
			t.Errorf("%s while another one of mallory is read: %d, want %d", name, got[0], got[1])
		}
	}
	w.Close()
	if got := <-status; got != 403 {
		t.Errorf("the form without a token: %d", got)
	}
	if got := act(mallory, large); got != 200 {
		t.Errorf("afterwards: %d", got)
	}
}

// TestFormsFillNoDisk is the attack "form with a file": a user sends a file with a form that has none.
// A form in parts would be written to the daemon's disk.
func TestFormsFillNoDisk(t *testing.T) {
	disk := t.TempDir()
	t.Setenv("TMPDIR", disk)
	v := signedIn(t, pagetest.New(t), "mallory", user)
	for _, path := range []string{"/leave", "/act"} {
		file := "--b\r\nContent-Disposition: form-data; name=form\r\n\r\n" + v.form() + "\r\n" +
			"--b\r\nContent-Disposition: form-data; name=f; filename=f\r\n\r\n" + strings.Repeat("x", 40<<20) + "\r\n--b--\r\n"
		post := httptest.NewRequest("POST", path, strings.NewReader(file))
		post.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		if w := v.do(post); w.Code < 400 || w.Code >= 500 {
			t.Errorf("%s: %d", path, w.Code)
		}
		if files, err := os.ReadDir(disk); err != nil || len(files) > 0 {
			t.Errorf("%s: %d files in %s, %v", path, len(files), disk, err)
		}
	}
}
