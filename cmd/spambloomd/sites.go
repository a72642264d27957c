package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/reporting/api"
)

// links says how far other sites are heard.
func (d *service) links() []api.Link {
	var followed []exchange.SiteStatus
	for _, x := range []*exchange.Exchange{d.exchange, d.previous} {
		if x != nil {
			followed = append(followed, x.Status().Sites...)
		}
	}
	return linksOf(followed, d.started.members)
}

// strangers says what was refused of senders that did not prove to be a site.
func (d *service) strangers() map[string]int64 {
	if d.exchange == nil {
		return nil
	}
	return d.exchange.Status().Refused
}

// linksOf are the sites that were heard of, and the peers that never were. Of a site
// that has both federation keys, what is said first counts.
func linksOf(followed []exchange.SiteStatus, members bloomdb.Members) []api.Link {
	var links []api.Link
	known := make(map[string]bool)
	for _, s := range followed {
		if known[s.Site] {
			continue
		}
		known[s.Site] = true
		link := api.Link{
			Site: s.Site, Lag: s.Lag, LagSeconds: s.LagSeconds, Heard: s.Heard,
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
	siteMemory = prometheus.NewDesc("spambloom_site_memory_bytes", "Memory of what is held of a site.", siteLabels, nil)
	siteFill   = prometheus.NewDesc("spambloom_site_fill_ratio", "Share of its caps that a site has used, in the fullest generation.", []string{"origin", "filter"}, nil)
	siteError  = prometheus.NewDesc("spambloom_site_error_share_ratio", "A site's part in the chance that a message nobody reported is called spam.", siteLabels, nil)
	siteState  = prometheus.NewDesc("spambloom_site_state", "Always 1; the state is in the label.", []string{"origin", "state"}, nil)
)

// siteCollector shows to Prometheus what `spambloom sites` prints and no other metric
// has.
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
