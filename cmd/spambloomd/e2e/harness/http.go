package harness

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// Get sends a request to the HTTP listener.
func (s *Site) Get(path string) (status int, body string) {
	s.T.Helper()
	return httpGet(s.T, "http://"+s.HTTP+path)
}

func httpGet(t testing.TB, url string) (status int, body string) {
	t.Helper()
	client := &http.Client{Timeout: testenv.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	testenv.Check(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	testenv.Check(t, err)
	return response.StatusCode, string(text)
}

// Ready reports whether /readyz returns 200.
func (s *Site) Ready() bool {
	status, _ := s.Get("/readyz")
	return status == 200
}

// Metric returns the value of an unlabelled metric, or -1 if it is missing.
func (s *Site) Metric(name string) float64 {
	s.T.Helper()
	_, text := s.Get("/metrics")
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				s.T.Fatal(err)
			}
			return n
		}
	}
	return -1
}
