package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/reporting/api"
)

// links returns the state of following other sites.
func (d *service) links() []api.Link {
	var followed []exchange.SiteStatus
	for _, x := range []*exchange.Exchange{d.exchange, d.previous} {
		if x != nil {
			followed = append(followed, x.Status().Sites...)
		}
	}
	return linksOf(followed, d.started.Members)
}

// strangers returns the refused records of senders that did not prove to be a site.
func (d *service) strangers() map[string]int64 {
	if d.exchange == nil {
		return nil
	}
	return d.exchange.Status().Refused
}

// linksOf returns the sites that published, and the peers that never did. For a site with
// both federation keys the first entry counts.
func linksOf(followed []exchange.SiteStatus, members wire.Members) []api.Link {
	var links []api.Link
	known := make(map[string]bool)
	for _, s := range followed {
		if known[s.Site] {
			continue
		}
		known[s.Site] = true
		link := api.Link{
			Site: s.Site, Known: s.Known, Lag: s.Lag, LagSeconds: s.LagSeconds, Heard: s.Heard,
			SkewSeconds: s.SkewSeconds, Clock: s.Clock, Stale: s.Stale != nil, Votes: s.Votes, Gaps: s.Gaps, Refused: s.Refused,
		}
		if s.Loading != nil {
			link.Chunks, link.ChunksOf = s.Loading.Chunks, s.Loading.Of
		}
		links = append(links, link)
	}
	for name := range members {
		if !known[name] {
			links = append(links, api.Link{Site: name})
		}
	}
	return links
}

var siteLabels = []string{"origin"}

var (
	siteMemory = prometheus.NewDesc("spambloom_site_memory_bytes", "Memory for the data of a site.", siteLabels, nil)
	siteFill   = prometheus.NewDesc("spambloom_site_fill_ratio", "Share of its limits that a site has used, in the fullest generation.", []string{"origin", "filter"}, nil)
	siteError  = prometheus.NewDesc("spambloom_site_error_share_ratio", "A site's share of the probability that an unreported message is judged spam.", siteLabels, nil)
	siteState  = prometheus.NewDesc("spambloom_site_state", "Always 1; the state is in the label.", []string{"origin", "state"}, nil)
)

// siteCollector exports the values of `spambloom sites` that no other metric contains.
type siteCollector struct {
	sites func() []api.Site
}

func (siteCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{siteMemory, siteFill, siteError, siteState} {
		ch <- d
	}
}

func (c siteCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, s := range c.sites() {
		gauge(siteState, 1, s.Site, s.State)
		gauge(siteMemory, float64(s.Memory), s.Site)
		gauge(siteError, s.ErrorShare, s.Site)
		for kind, fill := range s.Fill {
			gauge(siteFill, fill, s.Site, kind)
		}
	}
}
