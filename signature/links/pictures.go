package links

import (
	"bytes"
	"html"
	"strings"

	"github.com/spambloom/spambloom/signature/page"
	"github.com/spambloom/spambloom/signature/work"
)

// Pictures are the pictures that the pages of a message show.
type Pictures struct {
	HasRemote bool

	ids      map[string]bool // Content-IDs, in lower case
	isUnread bool            // there may be others
}

// Add records the pictures of a page. Those of elements that are plainly hidden do not count, and neither do those in
// style sheets and comments.
func (p *Pictures) Add(references []page.Reference, w *work.Steps) {
	for _, r := range references {
		if r.IsGone || r.Rank != page.Loaded || !r.IsPicture && !r.IsText {
			continue
		}
		w.Spend(work.PerTag + len(r.Value))
		if p.isUnread = p.isUnread || w.IsOver(); p.isUnread {
			return
		}
		p.add(r)
	}
}

func (p *Pictures) add(r page.Reference) {
	const scheme = "cid:"
	value := strings.ToLower(html.UnescapeString(string(bytes.TrimSpace(r.Value))))
	if !r.IsText && strings.HasPrefix(value, "http") {
		p.HasRemote = true
	}
	for _, after := range strings.Split(value, scheme)[1:] {
		if r.IsText {
			after, _, _ = strings.Cut(after, ")")
		}
		if p.ids == nil {
			p.ids = make(map[string]bool)
		}
		p.ids[strings.Trim(string(unescapePercent([]byte(after))), "<>\"' \t\r\n")] = true
	}
}

// Has reports whether a page shows the picture with a Content-ID, or may do so.
func (p *Pictures) Has(id string) bool { return p.isUnread || id != "" && p.ids[strings.ToLower(id)] }
