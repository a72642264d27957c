package client

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
)

func TestDialNobody(t *testing.T) {
	dir := t.TempDir()
	stale := filepath.Join(dir, "stale.sock")
	ln, err := net.Listen("unix", stale)
	testenv.Check(t, err)
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	ln.Close()
	for _, spec := range []string{"unix:" + filepath.Join(dir, "none.sock"), "unix:" + stale} {
		if _, err := Dial(spec); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), spec) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	for _, spec := range []string{"", "unix:", "inet:1@localhost", stale} {
		if _, err := Dial(spec); err == nil || errors.Is(err, ErrUnavailable) {
			t.Errorf("%q: %v", spec, err)
		}
	}
}

// All users share the queue of the socket. Who finds it full waits until the daemon has accepted some.
func TestDialFullQueue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "full.sock")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	testenv.Check(t, err)
	socket := os.NewFile(uintptr(fd), path)
	defer socket.Close()
	testenv.Check(t, errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 1)))
	ln, err := net.FileListener(socket)
	testenv.Check(t, err)
	defer ln.Close()
	for range 20 { // in one, the queue is met full
		for {
			c, err := net.Dial("unix", path)
			if errors.Is(err, unix.EAGAIN) {
				break
			}
			testenv.Check(t, err)
			defer c.Close()
		}
		accepted := make(chan error)
		go func() {
			c, err := ln.Accept()
			if err == nil {
				c.Close()
			}
			accepted <- err
		}()
		c, err := Dial("unix:" + path)
		testenv.Check(t, errors.Join(err, <-accepted))
		c.Close()
	}
}

// The time of an answer is bounded.
func TestTimeout(t *testing.T) {
	if c := Over(nil); c.http.Timeout != answerTimeout {
		t.Errorf("the client waits for %v", c.http.Timeout)
	}
}

// Not that of one that writes all filters.
func TestPatientKeep(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer s.Close()
	c := &Client{http: &http.Client{Timeout: 1}, base: s.URL}
	if _, err := Post(t.Context(), c, v1.Learn, api.SenderRequest{}); err == nil {
		t.Error("the time of a message is not bounded")
	}
	testenv.Check(t, c.KeepLearned(t.Context()))
}

// The answer of a daemon of another version, or of another program, is an error that names it.
func TestDecodeAnswer(t *testing.T) {
	for _, c := range []struct {
		status int
		data   string
		want   string
	}{
		{502, "<html>", "the daemon answers 502 Bad Gateway"},
		{404, `{"status":200,"detail":"no"}`, "no"},
		{200, "", ErrProtocol.Error()},
		{200, `{"verdict":1}`, ErrProtocol.Error()},
		{200, strings.Repeat(" ", maxAnswer+1), "over 16777216 bytes"},
	} {
		err := decode(&http.Response{StatusCode: c.status, Body: io.NopCloser(strings.NewReader(c.data))}, &api.Answer{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d %.20q: %v; want %q", c.status, c.data, err, c.want)
		}
		var p *api.Problem
		if errors.As(err, &p) != (c.status != 200) || p != nil && p.Status != c.status {
			t.Errorf("%d: problem %+v", c.status, p)
		}
	}
}
