package page

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/figures"
	"github.com/spambloom/spambloom/reporting/overview"
	"github.com/spambloom/spambloom/reporting/page/chart"
	"github.com/spambloom/spambloom/reporting/watch"
)

// todayData is the first screen.
type todayData struct {
	*overview.Overview
	Status api.Status

	Judged, JudgedBefore       uint64
	NotJudged, NotJudgedBefore uint64
	Why                        string // messages were not judged
	Bulk, BulkBefore           uint64
	Spam, SpamBefore           uint64
	Others                     uint64 // spam caught only because of other sites
	Given                      uint64 // messages listed by this site, which other sites received

	Span   chart.Span
	Spans  []chart.Span
	Bars   []chart.Bar
	Charts []chart.Chart

	Newest   []desk.Campaign
	Listings int
	Sites    []siteRow
}

// siteRow is a site with what it caught for this one within the last day.
type siteRow struct {
	api.Site
	Caught    uint64
	IsAwaited bool // silent, but its first record may still arrive: it needs nobody
}

const newestShown = 9

// today shows the first screen. All visitors see the same one, so it is made once for all of
// them within freshFor, however many browsers refresh it.
func (p *Page) today(w http.ResponseWriter, r *http.Request) {
	s := chart.SpanOf(r.URL.Query().Get("range"))
	if p.Sessions.of(r) == nil {
		html, err := p.visitors[s.Name].ask()
		if err != nil {
			p.failed(w, r, err)
			return
		}
		p.send(w, http.StatusOK, html)
		return
	}
	d, err := p.todayOf(s)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	p.show(w, http.StatusOK, "today", p.view(r, "Today", d))
}

// visitorsToday returns the first screen for visitors.
func (p *Page) visitorsToday(s chart.Span) ([]byte, error) {
	d, err := p.todayOf(s)
	if err != nil {
		return nil, err
	}
	return render("today", p.frame(&url.URL{Path: "/"}, "Today", d))
}

var errNoOverview = errors.New("the status has no overview")

// todayOf gathers the first screen, with the chart of a span.
func (p *Page) todayOf(shown chart.Span) (d todayData, err error) {
	s, err := p.status.ask()
	if err != nil {
		return d, err
	}
	if s.Overview == nil {
		return d, errNoOverview
	}
	campaigns, err := p.campaigns.ask()
	if err != nil {
		return d, err
	}
	day, before := s.Overview.LastDay, s.Overview.DayBefore
	d = todayData{
		Overview: s.Overview, Status: s,
		Judged: figures.Judged(day), JudgedBefore: figures.Judged(before),
		NotJudged: figures.NotJudged(day), NotJudgedBefore: figures.NotJudged(before), Why: whyNot(day),
		Bulk: day[figures.Bulk], BulkBefore: before[figures.Bulk], Spam: day[figures.Spam], SpamBefore: before[figures.Spam],
		Others: day[figures.SpamOthers], Given: day[figures.Listed],
		Span: shown, Spans: chart.Spans, Listings: len(campaigns), Sites: p.siteRows(s.Overview),
	}
	d.Bars = shown.Count(p.Now(), p.Hours)
	d.Charts = chart.Draw(d.Bars, [3]string{figures.Clean, figures.Bulk, figures.Spam}, "Mails by "+shown.Bars+": clean, bulk and spam")
	d.Newest = campaigns[:min(len(campaigns), newestShown)]
	return d, nil
}

// whyNot says why messages were not judged, the commonest reason first.
func whyNot(day map[string]uint64) string {
	why := make(map[string]uint64)
	for _, c := range figures.Kept {
		if strings.HasPrefix(c.Key, figures.Skipped+"_") || c.Key == figures.Allowed || c.Key == figures.Failed {
			why[c.Words] = day[c.Key]
		}
	}
	var list []string
	keys := slices.Sorted(maps.Keys(why))
	slices.SortStableFunc(keys, func(a, b string) int { return int(why[b]) - int(why[a]) })
	for _, words := range keys {
		if why[words] > 0 {
			list = append(list, words+" "+thousands(why[words]))
		}
	}
	return strings.Join(list, ", ")
}

func (p *Page) siteRows(o *overview.Overview) (rows []siteRow) {
	for _, s := range p.Sites() {
		rows = append(rows, siteRow{s, o.LastDay[figures.FromSite+":"+s.Site], watch.IsExpected(s, o.Started, p.Now())})
	}
	return rows
}

// News is what a screen reader says when it has changed. It has no ages, which change every time.
func (d todayData) News() string {
	if len(d.Needs) == 0 {
		return overview.NoNeed
	}
	var list []string
	for _, n := range d.Needs {
		list = append(list, safe(n.Text))
	}
	return strings.Join(list, " ")
}

// HighMemory is the memory from which the picture of it is a warning. Unit: bytes.
func (d todayData) HighMemory() int64 { return d.MostMemory / 10 * 9 }

// IsCaughtTwice reports whether the sites caught more mail, each, than all together.
func (d todayData) IsCaughtTwice() bool {
	caught := uint64(0)
	for _, s := range d.Sites {
		caught += s.Caught
	}
	return caught > d.Others
}

// IsTooHigh reports whether more mail than the target is called spam by mistake.
func (d todayData) IsTooHigh() bool { return isTooHigh(d.Status) }

// HasMail reports whether there is anything to be drawn.
func (d todayData) HasMail() bool {
	return slices.ContainsFunc(d.Bars, func(b chart.Bar) bool { return b.Clean+b.Bulk+b.Spam+b.NotJudged > 0 })
}
