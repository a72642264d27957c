package main

import (
	"net"
	"net/http"
	"net/url"

	"github.com/spambloom/spambloom/cmd/internal/version"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/page"
)

// newPage returns the page for people.
func (d *service) newPage() http.Handler {
	return page.New(page.Options{
		Site: d.db.Status().Site, Version: version.Text("spambloomd"),
		Status: func() (api.Status, error) {
			s, err := d.desk.Status()
			if err == nil {
				s.Overview = d.overview(s)
			}
			return s, err
		},
		Sites:     func() []api.Site { return d.desk.Sites(d.links()) },
		Hours:     d.history.Hours,
		Campaigns: d.desk.Campaigns, Courses: d.desk.Courses,
		Judged:  d.judged.Find,
		Control: d.api, Sessions: &d.sessions,
		Sign: d.milter.Sign, MaxMessage: d.started.Milter.MaxMessage,
		Now: d.db.Now, Log: d.log,
	})
}

// pageLink returns the address of the page that signs a user in once.
func (d *service) pageLink(name string, origin desk.Origin) string {
	host, port, err := net.SplitHostPort(d.started.HTTP.Listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	query := url.Values{"key": {d.sessions.NewLink(name, origin)}}
	return (&url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/enter", RawQuery: query.Encode()}).String()
}
