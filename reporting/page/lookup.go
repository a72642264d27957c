package page

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
)

var (
	idIn      = regexp.MustCompile(`\b[a-z]+:[0-9a-f]{16}\b`)
	queueIDIn = regexp.MustCompile(`^[0-9A-Za-z.-]{4,64}$`)
)

// lookupOf reads one id, a header line that has one, or a queue id. Of several ids one may be a sender's choice.
func lookupOf(text string) (q api.LookupRequest, problem string) {
	switch ids := slices.Compact(idIn.FindAllString(text, -1)); {
	case len(ids) > 1:
		return q, "This text has several ids. Paste only the line X-Spambloom, or one id."
	case len(ids) == 1:
		return api.LookupRequest{ID: ids[0]}, ""
	case queueIDIn.MatchString(text):
		return api.LookupRequest{QueueID: text}, ""
	}
	return q, "This text has no id, and is no queue id. An id looks like text:6f1ed002ab559585; the header X-Spambloom ends with one."
}

// explainForm asks for a message, and explains the one that the URL names (ask).
func (p *Page) explainForm(w http.ResponseWriter, r *http.Request) {
	d := explainData{Asked: strings.TrimSpace(r.URL.Query().Get("ask"))}
	if d.Asked == "" {
		p.show(w, http.StatusOK, "explain", p.view(r, "Why this mail?", d))
		return
	}
	var q api.LookupRequest
	if q, d.Problem = lookupOf(d.Asked); d.Problem != "" {
		p.show(w, http.StatusBadRequest, "explain", p.view(r, "Why this mail?", d))
		return
	}
	known, err := post(p, r, v1.Lookup, q)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	for i := range known.Judged {
		known.Judged[i].Spared = p.Alias(known.Judged[i].Spared)
	}
	d.Lookup, d.Explanation = &known, known.Explanation
	p.show(w, http.StatusOK, "explain", p.view(r, "Why this mail?", d))
}
