package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/sockets"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/desk"
)

// dial connects a client.
func (c crowd) dial(context.Context, string, string) (net.Conn, error) {
	client, served := net.Pipe()
	c <- served
	return client, nil
}

// browsers runs a test with a daemon that serves the page, in a bubble of its own time.
func browsers(t *testing.T, test func(t *testing.T, d *service, page crowd)) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := monitored(t)
		control, page := make(crowd), make(crowd, 1000)
		s := &sockets.Sockets{Control: control, HTTP: page}
		testenv.Check(t, d.assemble(s))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- d.run(ctx, nil, s) }()
		synctest.Wait()
		test(t, d, page)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		d.systemd.close()
	})
}

// surf returns a client with connections of its own.
func surf(page crowd) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: page.dial}}
}

// load returns a page.
func load(c *http.Client, path string) (string, error) {
	answer, err := c.Get("http://127.0.0.1:8898" + path)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, body)
	}
	return string(body), err
}

// A thousand pages are open, each of which is refreshed every ten seconds. All are served,
// though the listener keeps only a few connections.
func TestThousandOpenPages(t *testing.T) {
	browsers(t, func(t *testing.T, _ *service, page crowd) {
		var pages sync.WaitGroup
		for i := range 1000 {
			pages.Go(func() {
				c := surf(page)
				defer c.CloseIdleConnections()
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				for range 2 {
					if body, err := load(c, "/"); err != nil || !strings.HasSuffix(body, "</html>\n") {
						t.Errorf("page %d: %v, %d bytes", i, err, len(body))
					}
					time.Sleep(10 * time.Second)
				}
			})
		}
		pages.Wait()
	})
}

// Clients that send or read slowly are cut off, and keep nobody else waiting.
func TestSlowBrowsers(t *testing.T) {
	browsers(t, func(t *testing.T, d *service, page crowd) {
		connect := func(request string) net.Conn {
			conn, err := page.dial(t.Context(), "", "")
			testenv.Check(t, err)
			if _, err := io.WriteString(conn, request); err != nil {
				t.Fatal(err)
			}
			return conn
		}
		c := surf(page)
		defer c.CloseIdleConnections()
		writer := connect("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
		reader := connect("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		uploader, cookie, token := upload(t, d, page, c)
		if _, err := load(c, "/"); err != nil {
			t.Errorf("beside slow clients: %v", err)
		}
		time.Sleep(6 * time.Second)
		if isOpen(writer) {
			t.Error("a client that sends half a request is not cut off after 6 s")
		}
		time.Sleep(25 * time.Second)
		if got, err := io.ReadAll(reader); len(got) > 0 || err != nil {
			t.Errorf("a client that reads nothing for 31 s still gets %d bytes (%v)", len(got), err)
		}
		time.Sleep(30 * time.Second)
		if answer, err := io.ReadAll(uploader); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
			t.Errorf("a slow upload is answered %q (%v)", answer, err)
		}
		conn := connect("POST /explain HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nCookie: " + cookie + "\r\nContent-Type: multipart/form-data; boundary=b\r\n")
		body := "--b\r\nContent-Disposition: form-data; name=\"form\"\r\n\r\n" + token + "\r\n--b\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\nSubject: x\n\nx\r\n--b--\r\n"
		fmt.Fprintf(conn, "Content-Length: %d\r\n\r\n%s", len(body), body)
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") {
			t.Errorf("the same user's next upload is answered %q (%v)", answer, err)
		}
	})
}

// upload signs a user in who begins to send a message, and stops.
func upload(t *testing.T, d *service, page crowd, c *http.Client) (conn net.Conn, cookie, token string) {
	t.Helper()
	answer, err := c.Get("http://127.0.0.1:8898/enter?" + url.Values{"key": {d.sessions.NewLink("root", desk.Origin{PID: 1, Known: true})}}.Encode())
	testenv.Check(t, err)
	answer.Body.Close()
	if len(answer.Cookies()) != 1 {
		t.Fatalf("the link is answered %s", answer.Status)
	}
	cookie = answer.Cookies()[0].Name + "=" + answer.Cookies()[0].Value
	r, err := http.NewRequest(http.MethodGet, "http://127.0.0.1:8898/explain", nil)
	testenv.Check(t, err)
	r.Header.Set("Cookie", cookie)
	if answer, err = c.Do(r); err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	html, err := io.ReadAll(answer.Body)
	form := regexp.MustCompile(`name="form" value="([^"]+)"`).FindSubmatch(html)
	if err != nil || form == nil {
		t.Fatalf("no form (%v) in\n%s", err, html)
	}
	token = string(form[1])
	if conn, err = page.dial(t.Context(), "", ""); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /explain HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nCookie: %s\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 100000\r\n\r\n", cookie)
	fmt.Fprintf(conn, "--b\r\nContent-Disposition: form-data; name=\"form\"\r\n\r\n%s\r\n--b\r\nContent-Disposition: form-data; name=\"message\"\r\n\r\nSubject: x\n", token)
	return conn, cookie, token
}

// TestStopDuringAnUpload is the attack "slow upload at a stop": a user begins to send a message to the page,
// and is silent. The milter has stopped, so the daemon waits for a moment only, and not for the minute that
// a message may take.
func TestStopDuringAnUpload(t *testing.T) {
	took := make(chan time.Duration, 1)
	browsers(t, func(t *testing.T, d *service, page crowd) {
		c := surf(page)
		c.Jar, _ = cookiejar.New(nil)
		link := &url.URL{Path: "/enter", RawQuery: url.Values{"key": {d.sessions.NewLink("anna", desk.Origin{Known: true, UID: 1000})}}.Encode()}
		if _, err := load(c, link.String()); err != nil {
			t.Fatal(err)
		}
		conn, _ := page.dial(t.Context(), "", "")
		cookie := c.Jar.Cookies(&url.URL{Scheme: "http", Host: "127.0.0.1:8898"})[0]
		fmt.Fprintf(conn, "POST /explain HTTP/1.1\r\nHost: 127.0.0.1:8898\r\nCookie: %s\r\n"+
			"Content-Type: multipart/form-data; boundary=B\r\nContent-Length: 1000\r\n\r\n", cookie)
		begun := make(chan time.Time, 1)
		go func() {
			if answer, _ := io.ReadAll(conn); strings.Contains(string(answer), " 401 ") {
				t.Error("the user is not signed in")
			}
			took <- time.Since(<-begun)
		}()
		synctest.Wait()
		begun <- time.Now()
	})
	if d := <-took; d < lastRequests || d > 10*time.Second {
		t.Errorf("the stop waited for %v", d)
	}
}
