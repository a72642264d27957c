package reporters

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/client"
)

// pages starts a daemon that returns many reports and reporters in pages.
func pages(t *testing.T, reports, reporters int) *client.Client {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/reports", func(w http.ResponseWriter, r *http.Request) {
		var ask api.TrailRequest
		_ = json.NewDecoder(r.Body).Decode(&ask) // of this program
		size, id := 1000, uint64(reports)
		if ask.Limit > 0 {
			size = min(ask.Limit, size)
		}
		if ask.Before > 0 {
			id = ask.Before - 1
		}
		var page api.ReportTrail
		for ; id > 0 && len(page.Reports) < size; id-- {
			page.Reports = append(page.Reports, api.Reported{ID: id})
		}
		if id > 0 {
			page.Next = id + 1
		}
		_ = json.NewEncoder(w).Encode(page)
	})
	mux.HandleFunc("/v1/reporters", func(w http.ResponseWriter, r *http.Request) {
		var ask api.ReportersRequest
		_ = json.NewDecoder(r.Body).Decode(&ask)
		page := api.Reporters{Quorum: 2}
		for i := range reporters {
			name := fmt.Sprintf("r%05d", i)
			if name <= ask.After {
				continue
			}
			if len(page.Reporters) == 1000 {
				page.Next = page.Reporters[999].Name
				break
			}
			page.Reporters = append(page.Reporters, api.Reporter{Name: name})
		}
		_ = json.NewEncoder(w).Encode(page)
	})
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	testenv.Check(t, err)
	server, done := &http.Server{Handler: mux}, make(chan error)
	go func() { done <- server.Serve(ln) }()
	daemon, err := client.Dial("unix:" + path)
	testenv.Check(t, err)
	t.Cleanup(func() { daemon.Close(); server.Close(); <-done })
	return daemon
}

// All pages are fetched, and each report and reporter is returned once.
func TestPages(t *testing.T) {
	for _, c := range []struct{ kept, limit, want int }{
		{0, 0, 0}, {999, 0, 999}, {1000, 0, 1000}, {2500, 0, 2500}, {2500, 1500, 1500}, {2500, 2500, 2500}, {2500, 100, 100}, {2500, 9999, 2500},
	} {
		daemon := pages(t, c.kept, c.kept)
		reports, more, err := trail(t.Context(), daemon, api.TrailRequest{}, c.limit)
		if err != nil || len(reports) != c.want || more != (c.want < c.kept) {
			t.Errorf("%d of %d reports: %d, more %v, %v", c.limit, c.kept, len(reports), more, err)
		}
		for i, r := range reports {
			if r.ID != uint64(c.kept-i) {
				t.Fatalf("report %d of %d is number %d", i, c.kept, r.ID)
			}
		}
		all, err := allReporters(t.Context(), daemon)
		if err != nil || len(all.Reporters) != c.kept || all.Quorum != 2 {
			t.Errorf("%d reporters: %d, %v", c.kept, len(all.Reporters), err)
		}
		for i, r := range all.Reporters {
			if r.Name != fmt.Sprintf("r%05d", i) {
				t.Fatalf("reporter %d is %s", i, r.Name)
			}
		}
	}
}
