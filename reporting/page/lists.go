package page

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/desk"
)

// pageSize is the number of rows of a page of a list.
const pageSize = 50

// pageOf returns one page of a list, its number from 1, and the next one; 0: none.
func pageOf[T any](list []T, number string) (rows []T, page, next int) {
	page, err := strconv.Atoi(number)
	if err != nil || page < 1 || page > 1+len(list)/pageSize {
		page = 1
	}
	rows = list[min(len(list), (page-1)*pageSize):]
	if len(rows) > pageSize {
		return rows[:pageSize], page, page + 1
	}
	return rows, page, 0
}

// reportsData is a page of reports.
type reportsData struct {
	api.ReportTrail
	By, Since string
	Before    uint64
	Others    api.Actions // actions that are no reports; of administrators only
}

func (p *Page) reportList(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	d := reportsData{By: strings.TrimSpace(q.Get("by")), Since: q.Get("since")}
	ask := api.TrailRequest{By: d.By, Limit: pageSize}
	if since, err := time.ParseInLocation(time.DateOnly, d.Since, time.Local); err == nil {
		ask.Since = since
	}
	d.Before, _ = strconv.ParseUint(q.Get("before"), 10, 64) // 0: the newest
	ask.Before = d.Before
	var err error
	if d.ReportTrail, err = post(p, r, v1.Reports, ask); err != nil {
		p.failed(w, r, err)
		return
	}
	v := p.view(r, "Reports", nil)
	if v.May("administrate") {
		before, _ := strconv.ParseUint(q.Get("actions"), 10, 64) // 0: the newest
		if d.Others, err = post(p, r, v1.Actions, api.ActionsRequest{Before: before, Limit: pageSize}); err != nil {
			p.failed(w, r, err)
			return
		}
	}
	v.Data = d
	p.show(w, http.StatusOK, "reports", v)
}

// reportersData is a page of reporters.
type reportersData struct {
	api.Reporters
	Name string
}

func (p *Page) reporterList(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	d := reportersData{Name: strings.TrimSpace(q.Get("name"))}
	var err error
	if d.Reporters, err = post(p, r, v1.Reporters, api.ReportersRequest{Name: d.Name, After: q.Get("after"), Limit: pageSize}); err != nil {
		p.failed(w, r, err)
		return
	}
	p.show(w, http.StatusOK, "reporters", p.view(r, "Reporters", d))
}

// Why says in words how a reporter came to its weight.
func (d reportersData) Why(r api.Reporter) string {
	switch {
	case r.Name == api.Settler:
		return "decisions of administrators outweigh all reporters"
	case r.Override != nil:
		return "set by an administrator"
	case desk.IsTrap(r.Name):
		return "a spam trap lists alone"
	case r.Confirmed+r.Refuted < 0.5:
		return "new: nobody has confirmed or refuted a report yet"
	case r.Refuted > r.Confirmed:
		return "others took most of these reports back"
	case r.Refuted >= 0.5:
		return "others confirmed most reports, and took some back"
	}
	return "others confirmed the reports"
}

func (p *Page) siteList(w http.ResponseWriter, r *http.Request) {
	s, err := p.status.ask()
	if err != nil || s.Overview == nil {
		p.failed(w, r, err)
		return
	}
	p.show(w, http.StatusOK, "sites", p.view(r, "Sites", p.siteRows(s.Overview)))
}

func (p *Page) filterList(w http.ResponseWriter, r *http.Request) {
	s, err := p.status.ask()
	if err != nil {
		p.failed(w, r, err)
		return
	}
	p.show(w, http.StatusOK, "filters", p.view(r, "Filters", filtersData{s}))
}

type filtersData struct{ api.Status }

// IsTooHigh reports whether more mail than the target is called spam by mistake.
func (d filtersData) IsTooHigh() bool { return isTooHigh(d.Status) }

func isTooHigh(s api.Status) bool {
	return s.Overview != nil && s.Overview.TargetError > 0 && s.Database.ErrorPerMail > s.Overview.TargetError
}

// awaited is the state of a site whose first record may still arrive.
const awaited = "waiting for its first record"

// StateWords says what the state of a site means.
func (s siteRow) StateWords() string {
	if s.IsAwaited {
		return awaited
	}
	switch s.State {
	case api.StateSelf:
		return "this site"
	case api.StateClock:
		return "its clock is off by more than an hour"
	case api.StateStale:
		return "runs on an older state folder; records refused"
	case api.StateCapped:
		return "over its cap until the period ends"
	case api.StateLoading:
		return "its snapshot is being read"
	case api.StateSilent:
		return "silent"
	case api.StateHeard:
		if !s.IsWell() {
			return "heard; some records are missing"
		}
	}
	return s.State
}

// Sign says in a word or two why a site needs somebody.
func (s siteRow) Sign() string {
	switch s.State {
	case api.StateClock:
		return "clock is off"
	case api.StateStale:
		return "older state"
	case api.StateCapped:
		return "over its cap"
	case api.StateHeard:
		return "gaps"
	}
	return s.State
}

// IsWell reports whether a site needs nobody.
func (s siteRow) IsWell() bool {
	switch s.State {
	case api.StateSilent:
		return s.IsAwaited
	case api.StateClock, api.StateStale, api.StateCapped:
		return false
	case api.StateHeard:
		return !s.IsBehind()
	}
	return true
}
