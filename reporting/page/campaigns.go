package page

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/page/chart"
)

// campaignRow is a campaign with its mail over time.
type campaignRow struct {
	desk.Campaign
	Mails, Matched uint64    // within the span; Matched of them were recognised when they arrived
	Last           time.Time // of the latest mail; zero: none is remembered
	Reported       time.Time // of the latest report or revocation
	Spark          chart.Chart

	bars []chart.Bar
}

// courses are all campaigns with their mail within a span.
type courses struct {
	rows  []campaignRow
	since time.Time // all mail since then is counted
}

// campaignsData is a page of campaigns.
type campaignsData struct {
	Campaigns    []campaignRow
	Total        int
	Search, Only string
	Sort         string
	Page, Next   int

	Span       chart.Span
	Spans      []chart.Span
	Since      time.Time
	IsComplete bool      // all mail of the span is counted
	Counted    time.Time // “seen” counts from then on; zero: nothing was counted

	Bars  []chart.Bar // of the only campaign that matches
	Chart []chart.Chart
}

// campaignSpans are the times of which the mail of campaigns is shown; the first is the default.
// The daemon remembers no mail longer.
func campaignSpans() []chart.Span {
	return []chart.Span{chart.SpanOf("week"), chart.SpanOf("day"), chart.SpanOf("month")}
}

// campaignList shows what was reported, one row for a message and its near-duplicates. The
// URL has the search (q), only (listed, contested), sort (size, seen), the span (range) and the
// page.
func (p *Page) campaignList(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	d := campaignsData{Search: strings.TrimSpace(q.Get("q")), Only: q.Get("only"), Sort: q.Get("sort"), Spans: campaignSpans()}
	d.Span = d.Spans[max(0, slices.IndexFunc(d.Spans, func(s chart.Span) bool { return s.Name == q.Get("range") }))]
	of, err := p.courses[d.Span.Name].ask()
	if err != nil {
		p.failed(w, r, err)
		return
	}
	v, text := p.view(r, "Campaigns", nil), strings.ToLower(d.Search)
	list := slices.DeleteFunc(slices.Clone(of.rows), func(c campaignRow) bool {
		return d.Only == "listed" && !c.Listed || d.Only == "contested" && !c.IsContested() && !c.Held || !matches(c.Campaign, text, v.May("administrate"))
	})
	switch d.Sort {
	case "size":
		slices.SortStableFunc(list, func(a, b campaignRow) int { return int(b.Count) - int(a.Count) })
	case "seen":
		slices.SortStableFunc(list, func(a, b campaignRow) int { return b.Last.Compare(a.Last) })
	}
	d.Total, d.Since, d.IsComplete = len(list), of.since, !of.since.After(d.Span.Bounds(p.Now())[0])
	d.Campaigns, d.Page, d.Next = pageOf(list, q.Get("page"))
	d.Counted = p.countedSince()
	if d.Total == 1 && text != "" {
		d.Bars = list[0].bars
		d.Chart = chart.Draw(d.Bars, [3]string{"passed", "", "recognised"}, "Mail of this campaign by "+d.Span.Bars+": passed and recognised")
	}
	v.Data = d
	p.show(w, http.StatusOK, "campaigns", v)
}

// countedSince returns the begin of the oldest counts of the database; zero: there are none.
func (p *Page) countedSince() (since time.Time) {
	s, _ := p.status.ask() // its fault is shown by the layout
	for _, f := range s.Database.Filters {
		if f.Kind == "counts" && (since.IsZero() || f.Start.Before(since)) {
			since = f.Start
		}
	}
	return since
}

// Settles reports whether a campaign of the page can be settled.
func (d campaignsData) Settles() bool {
	return slices.ContainsFunc(d.Campaigns, func(c campaignRow) bool { return c.IsContested() || c.Held })
}

// Disagreeing lists who revoked the message of a campaign and stands by it.
func (c campaignRow) Disagreeing() []string {
	return slices.DeleteFunc(slices.Clone(c.Revokers), func(name string) bool { return slices.Contains(c.Reporters, name) })
}

// matches reports whether a campaign has a text, in lower case, in an id, its class, or the name
// of a reporter, which only administrators can search.
func matches(c desk.Campaign, text string, administrates bool) bool {
	in := slices.Concat(c.IDs, []string{c.Class.String()})
	if administrates {
		in = append(in, c.Reporters...)
	}
	return text == "" || slices.ContainsFunc(in, func(s string) bool { return strings.Contains(strings.ToLower(s), text) })
}

// coursesOf returns all campaigns with their mail within a span.
func (p *Page) coursesOf(s chart.Span) (of courses, err error) {
	list, err := p.campaigns.ask()
	if err != nil {
		return of, err
	}
	bounds := s.Bounds(p.Now())
	found, since := p.Courses(list, bounds)
	of.since = since
	for i, c := range list {
		row := campaignRow{Campaign: c, Last: found[i].Last, Reported: c.Last}
		for n, at := range bounds {
			b := s.Bar(at, n)
			b.Clean, b.Spam = found[i].Passed[n], found[i].Matched[n]
			row.Mails, row.Matched = row.Mails+b.Clean+b.Spam, row.Matched+b.Spam
			row.bars = append(row.bars, b)
		}
		row.Spark = s.Spark(row.bars, bounds, since)
		of.rows = append(of.rows, row)
	}
	return of, nil
}
