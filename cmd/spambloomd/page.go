package main

import (
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spambloom/spambloom/cmd/internal/version"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/page"
)

// newPage returns the page for people.
func (d *service) newPage() http.Handler {
	o := d.pageOptions()
	if d.remote != nil {
		o.SignIn, o.HasTokens = d.remote.SignIn, d.remote.HasTokens
	}
	return page.New(o)
}

func (d *service) pageOptions() page.Options {
	return page.Options{
		Site: d.db.Site(), Version: version.Text("spambloomd"),
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
		Sign: d.milter.Sign, MaxMessage: d.maxMessage.Load,
		Alias: d.pseudonyms.Name,
		Now:   d.db.Now, Log: d.log,
	}
}

// pageLink returns a function that makes addresses of the page at a listener, each of which signs a
// user in once.
func (d *service) pageLink(at net.Addr) func(name string, origin desk.Origin) string {
	host := pageAddress(d.started.HTTP.Listen, at)
	return func(name string, origin desk.Origin) string {
		query := url.Values{"key": {d.sessions.NewLink(name, origin)}}
		return (&url.URL{Scheme: "http", Host: host, Path: "/enter", RawQuery: query.Encode()}).String()
	}
}

// pageAddress returns the address by which a browser of this machine finds the page. systemd may
// listen elsewhere than the configuration says, and the kernel may choose the port.
func pageAddress(configured string, at net.Addr) string {
	host, port, err := net.SplitHostPort(configured)
	if tcp, ok := at.(*net.TCPAddr); ok {
		bound := strconv.Itoa(tcp.Port)
		if isName := err == nil && host != "" && net.ParseIP(host) == nil; !isName || port != bound {
			host, port = tcp.IP.String(), bound
		}
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
