package page

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/reporting/judged"
)

// maxMail bounds the judgements that a list is made of, the latest.
const maxMail = 5000

// maxID bounds the text that an id may have in it, in bytes.
const maxID = 64

// spared is the choice of mail that only a known sender kept from being spam.
const spared = "spared"

// mailRow is one judgement, or all on one message and on what is listed like it.
type mailRow struct {
	Last, First time.Time
	Verdict     string
	ID          string // the one in the header
	IDs         []string
	QueueID     string // of the latest; empty for visitors
	Copies      int
	IsSpared    bool   // only a known sender kept it from being spam
	Spared      string // its domain; empty for visitors
}

// mailData is a page of the latest judgements.
type mailData struct {
	Rows         []mailRow
	Total        int
	Search, Only string
	Each         bool // a row for each judgement
	Page, Next   int
}

// mailList shows the latest judgements. The URL has the search (q), only (a verdict, or spared), each
// (no grouping) and the page.
func (p *Page) mailList(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	d := mailData{Search: strings.TrimSpace(q.Get("q")), Only: q.Get("only"), Each: q.Get("each") != ""}
	v := p.view(r, "Mail", nil)
	rows := p.searchMail(d, v.May("administrate"))
	d.Total = len(rows)
	d.Rows, d.Page, d.Next = pageOf(rows, q.Get("page"))
	for i := range d.Rows {
		row := &d.Rows[i]
		if row.Spared = p.Alias(row.Spared); !v.May("administrate") {
			row.QueueID, row.Spared = "", ""
		}
	}
	v.Data = d
	p.show(w, http.StatusOK, "mail", v)
}

// searchMail makes the rows of a list. It makes one at a time, because all visitors may ask
// for it: a search takes one processor at most.
func (p *Page) searchMail(d mailData, administrates bool) []mailRow {
	p.searching.Lock()
	defer p.searching.Unlock()
	text := strings.ToLower(d.Search)
	return mailRows(p.Judged(maxMail, func(m *judged.Message) bool {
		return (d.Only == "" || m.Verdict == d.Only || d.Only == spared && m.Spared != "") && (administrates && m.QueueID == d.Search || mailMatches(m, text))
	}), d.Each)
}

// mailMatches reports whether a judgement has a text, in lower case, in an id.
func mailMatches(m *judged.Message, text string) bool {
	if text == "" {
		return true
	}
	if len(text) > maxID {
		return false
	}
	for _, s := range slices.Concat(m.Shown, m.Set.Signatures) {
		if strings.Contains(s.ID(), text) {
			return true
		}
	}
	return false
}

// mailRows makes one row of all judgements that share verdict and first id, unless each one
// is to have its own.
func mailRows(found []judged.Message, each bool) (rows []mailRow) {
	at := make(map[[2]string]int)
	for _, m := range found { // the latest first
		row := mailRow{Last: m.At, First: m.At, Verdict: m.Verdict, QueueID: m.QueueID, Copies: 1, IsSpared: m.Spared != "", Spared: m.Spared}
		for _, s := range slices.Concat(m.Shown, m.Set.Signatures) {
			if id := s.ID(); !slices.Contains(row.IDs, id) {
				row.IDs = append(row.IDs, id)
			}
		}
		if len(row.IDs) > 0 {
			row.ID = row.IDs[0]
		}
		key := [2]string{row.Verdict + row.Spared, row.ID}
		if i, ok := at[key]; ok && !each && row.ID != "" {
			rows[i].First = m.At
			rows[i].Copies++
			continue
		}
		at[key] = len(rows)
		rows = append(rows, row)
	}
	return rows
}

// HasSpared reports whether a row of the page was spared.
func (d mailData) HasSpared() bool {
	return slices.ContainsFunc(d.Rows, func(r mailRow) bool { return r.IsSpared })
}
