package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/backup"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
)

// statuses are all that the API answers with, as API.md lists them, but for 500: the
// disk of a fuzz target does not fail.
var statuses = []int{200, 400, 401, 403, 404, 405, 408, 409, 413, 417, 422, 429, 431, 501, 503, 505}

// wantJSON checks an answer, whatever was asked.
func wantJSON(t *testing.T, status int, contentType string, body []byte) {
	t.Helper()
	if !slices.Contains(statuses, status) {
		t.Errorf("status %d: %s", status, body)
	}
	if status == http.StatusOK && contentType == "application/x-tar" {
		if _, err := backup.Read(bytes.NewReader(body), t.TempDir()); err != nil {
			t.Error(err)
		}
		return
	}
	if status == http.StatusOK {
		if contentType != "application/json" || !json.Valid(body) {
			t.Errorf("%s: %q", contentType, body)
		}
		return
	}
	var p api.Problem
	err := json.Unmarshal(body, &p)
	if err != nil || contentType != "application/problem+json" || p.Status != status || p.Type != "about:blank" || p.Title == "" || p.Detail == "" {
		t.Errorf("%d %s: %q: %v", status, contentType, body, err)
	}
}

// fuzzAPI is a handler before a small site, on which everybody may do what they may.
func fuzzAPI(f *testing.F) http.Handler {
	dir, err := os.MkdirTemp("", "fuzz") // t.TempDir is gone after one input
	if err != nil {
		f.Fatal(err)
	}
	db, err := bloomdb.Open(desktest.Options(filepath.Join(dir, "state")))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := errors.Join(db.Check(), db.Close(), os.RemoveAll(dir)); err != nil {
			f.Error(err)
		}
	})
	access := NewAccess(AccessOptions{Group: "spambloom", GID: 100, DaemonUID: 100, Delegates: []string{"vmail"}})
	access.names.Lookup = lookupUser
	desk := desk.New(db, desktest.OpenLedger(f, trust.Default()), desk.Options{MaxHour: 1000})
	return NewHandler(desk, HandlerOptions{Decide: desktest.Decide, Version: "1.2.3", Access: access})
}

// Whatever a client of whatever rights sends to whatever path, the answer is JSON, and
// an error a problem; nothing is a fault of ours.
func FuzzAPI(f *testing.F) {
	h := fuzzAPI(f)
	callers := []desk.Origin{process(0), process(1000, 100), process(1001), process(200), {Client: "store1"}, {}}
	f.Fuzz(func(t *testing.T, who byte, method, path string, body []byte) {
		r := (&http.Request{
			Method: method, URL: &url.URL{Path: path}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		}).WithContext(context.WithValue(t.Context(), originKey{}, callers[int(who)%len(callers)]))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		wantJSON(t, w.Code, w.Header().Get("Content-Type"), w.Body.Bytes())
	})
}

// Whatever bytes come on a connection, each answer is HTTP and JSON, and at their end
// the server hangs up.
func FuzzConnection(f *testing.F) {
	path := listenAndServe(f, New(fuzzAPI(f), nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if bytes.Contains(raw, []byte("HEAD ")) {
			t.Skip("its answers have no body")
		}
		answers := bufio.NewReader(bytes.NewReader(converse(t, path, raw)))
		for {
			response, err := http.ReadResponse(answers, nil)
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return // no more
			}
			testenv.Check(t, err)
			body, err := io.ReadAll(response.Body)
			testenv.Check(t, err)
			if response.StatusCode != http.StatusContinue {
				wantJSON(t, response.StatusCode, response.Header.Get("Content-Type"), bytes.TrimSpace(body))
			}
		}
	})
}

// The corpus has a good request for each endpoint.
func TestFuzzCorpusHasEveryEndpoint(t *testing.T) {
	files, err := filepath.Glob("testdata/fuzz/FuzzAPI/*")
	testenv.Check(t, err)
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		testenv.Check(t, err)
		all.Write(text)
	}
	for _, e := range new(handler).endpoints() {
		if !strings.Contains(all.String(), "string(\""+e.method+"\")\nstring(\""+e.path+"\")\n") {
			t.Errorf("no input for %s %s", e.method, e.path)
		}
	}
}

// API.md has a line for each status.
func TestStatusesAreListed(t *testing.T) {
	page, err := os.ReadFile("../API.md")
	testenv.Check(t, err)
	_, section, _ := strings.Cut(string(page), "\n## Errors\n")
	listed := []int{http.StatusOK}
	for _, line := range regexp.MustCompile(`(?m)^\| ([0-9, ]+) \|`).FindAllStringSubmatch(section, -1) {
		for _, number := range strings.Split(line[1], ", ") {
			status, err := strconv.Atoi(number)
			testenv.Check(t, err)
			if status != http.StatusInternalServerError {
				listed = append(listed, status)
			}
		}
	}
	if slices.Sort(listed); !slices.Equal(listed, statuses) {
		t.Errorf("listed are %v, answered %v", listed, statuses)
	}
}
