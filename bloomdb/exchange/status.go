package exchange

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb"
)

// Status is how the exchange stands.
type Status struct {
	// Connected: news are heard, and the last command to Redis succeeded.
	Connected bool `json:"connected"`

	// LastError is the last fault, also after it was overcome.
	LastError   string     `json:"last_error,omitempty"`
	LastErrorAt *time.Time `json:"last_error_at,omitempty"`

	// Published is the last own delta that went into the stream; Snapshot is up to
	// which of them this site's snapshot in Redis reaches, nil where there is none.
	Published Position  `json:"published"`
	Snapshot  *Position `json:"snapshot,omitempty"`

	Sites []SiteStatus `json:"sites"` // the others, by name
}

// SiteStatus is how far one other site is followed.
type SiteStatus struct {
	Site    string   `json:"site"`
	Trust   string   `json:"trust"`   // full, vote or none
	Head    Position `json:"head"`    // the newest delta known to exist
	Applied Position `json:"applied"` // the newest delta in our database
	Lag     uint64   `json:"lag"`     // deltas between the two

	// LagSeconds is for how long something of the site has been waiting to be
	// applied; 0 where nothing waits.
	LagSeconds float64 `json:"lag_seconds"`

	Heard    *time.Time `json:"heard,omitempty"`    // when its news last came
	Snapshot *Position  `json:"snapshot,omitempty"` // up to where its snapshot reaches, as it says; nil: none
	Loading  *Progress  `json:"loading,omitempty"`  // its snapshot is being read

	// SkewSeconds is by how much the site's clock is ahead of ours; negative:
	// behind. It has the time of the way in it. Clock: it is off by more than an
	// hour. What a site sends that is ahead by so much is held back.
	SkewSeconds float64 `json:"skew_seconds"`
	Clock       bool    `json:"clock,omitempty"`

	Muted bool   `json:"muted,omitempty"` // nothing of it is read
	Votes uint64 `json:"votes,omitempty"` // stamp of the votes held of it; 0: none

	// Gaps is how often deltas were missing that no snapshot has brought since.
	Gaps    int64            `json:"gaps"`
	Refused map[string]int64 `json:"refused,omitempty"` // records refused since the start, by cause
}

// Progress is how far a snapshot was read.
type Progress struct {
	Chunks int `json:"chunks"`
	Of     int `json:"of"`
}

// Status tells how the exchange stands now.
func (x *Exchange) Status() Status {
	s := Status{Connected: x.link.connected(), Sites: []SiteStatus{}}
	s.Published.Epoch, s.Published.Seq = x.db.Head()
	x.link.mu.Lock()
	if x.link.lastError != "" {
		at := x.link.lastFault
		s.LastError, s.LastErrorAt = x.link.lastError, &at
	}
	x.link.mu.Unlock()

	x.mu.Lock()
	defer x.mu.Unlock()
	for _, o := range x.origins {
		s.Sites = append(s.Sites, x.siteStatus(o))
	}
	slices.SortFunc(s.Sites, func(a, b SiteStatus) int { return strings.Compare(a.Site, b.Site) })
	return s
}

func (x *Exchange) siteStatus(o *origin) SiteStatus {
	applied := x.cursor(o.site)
	s := SiteStatus{Site: o.site, Trust: "full", Head: o.head, Applied: applied, Lag: applied.lag(o.head), Gaps: o.gaps}
	if !o.heard.IsZero() {
		heard := o.heard
		s.Heard = &heard
	}
	for c, n := range o.refused {
		if s.Refused == nil {
			s.Refused = make(map[string]int64)
		}
		s.Refused[string(c)] = n
	}
	return s
}

// cause is why something was refused.
type cause string

const (
	causeNews       cause = "news"       // a message or a head that cannot be read
	causeStream     cause = "stream"     // the key is no stream
	causeEntry      cause = "entry"      // the entry holds no delta
	causeOversize   cause = "oversize"   // over 1 MiB
	causeOrigin     cause = "origin"     // another site's or another position's record
	causeFederation cause = "federation" // made under another key
	causeParameters cause = "parameters" // made with other sizes or periods
	causeFull       cause = "full"       // more than the filters are made for
	causeInvalid    cause = "invalid"    // torn, forged, or of a clock far off; the log says which
)

func causeOf(err error) cause {
	for _, known := range []struct {
		err   error
		cause cause
	}{
		{bloomdb.ErrFederation, causeFederation},
		{bloomdb.ErrParameters, causeParameters},
		{bloomdb.ErrFull, causeFull},
		{errOversize, causeOversize},
		{errOrigin, causeOrigin},
		{errEntry, causeEntry},
	} {
		if errors.Is(err, known.err) {
			return known.cause
		}
	}
	return causeInvalid
}

// refuse counts what was refused and logs it once per site, cause and minute.
// The site is empty where it is not known.
func (x *Exchange) refuse(site string, c cause, err error) {
	x.metrics.refused.WithLabelValues(site, string(c)).Inc()
	if x.quiet.allow(site + " " + string(c)) {
		x.log.Warn("refused", "from", site, "cause", c, "error", err)
	}
}

// refuseFrom is refuse for a known site.
func (x *Exchange) refuseFrom(o *origin, c cause, err error) {
	x.refuse(o.site, c, err)
	x.mu.Lock()
	defer x.mu.Unlock()
	o.refused[c]++
}

// metrics are the counters; site labels are bounded by maxSites.
type metrics struct {
	published      prometheus.Counter
	publishedBytes prometheus.Counter
	reconnects     prometheus.Counter
	applied        *prometheus.CounterVec
	refused        *prometheus.CounterVec
	gaps           *prometheus.CounterVec
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "spambloom_exchange_" + name, Help: help})
	}
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "spambloom_exchange_" + name, Help: help}, labels)
	}
	return &metrics{
		published:      counter("published_total", "Deltas of this site brought into its stream."),
		publishedBytes: counter("published_bytes_total", "Bytes of these deltas."),
		reconnects:     counter("resubscriptions_total", "Subscriptions given up after a fault."),
		applied:        vec("applied_total", "Deltas of other sites applied.", "site"),
		refused:        vec("refused_total", "News and deltas refused; the site is empty where it is not known.", "site", "cause"),
		gaps:           vec("gaps_total", "Times that deltas were missing in a stream.", "site"),
	}
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.published, m.publishedBytes, m.reconnects, m.applied, m.refused, m.gaps}
}

var lagDesc = prometheus.NewDesc("spambloom_exchange_lag",
	"Deltas that other sites published and this one has not applied.", []string{"site"}, nil)

// lagCollector reads the lags when they are asked for.
type lagCollector struct{ x *Exchange }

func (c lagCollector) Describe(ch chan<- *prometheus.Desc) { ch <- lagDesc }

func (c lagCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.x.Status().Sites {
		ch <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, float64(s.Lag), s.Site)
	}
}
