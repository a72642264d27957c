package links

import (
	"bytes"
	"html"
	"strings"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/page"
	"github.com/spambloom/spambloom/signature/work"
)

// maxLocation is the length of a URL, in bytes, beyond which it is not compared with a Content-Location.
const maxLocation = 1000

// Pictures are the pictures that the pages of a message show.
type Pictures struct {
	HasRemote bool

	ids      map[string]bool // Content-IDs, in lower case
	urls     map[string]bool // of pictures, in lower case
	isUnread bool            // any other picture may be shown
}

// Add records the pictures of a page. Those of elements that are plainly hidden do not count, and neither do those in
// comments.
func (p *Pictures) Add(references []page.Reference, w *work.Steps) {
	for _, r := range references {
		if r.IsGone && !r.IsSheet || r.Rank != page.Loaded || !r.IsPicture && !r.IsText {
			continue
		}
		w.Spend(work.PerTag + len(r.Value))
		if w.IsOver() {
			p.isUnread = true
			return
		}
		p.add(r)
	}
}

func (p *Pictures) add(r page.Reference) {
	const scheme = "cid:"
	value := strings.ToLower(html.UnescapeString(string(bytes.TrimSpace(r.Value))))
	if !r.IsText {
		p.HasRemote = p.HasRemote || strings.HasPrefix(value, "http")
		p.isUnread = p.isUnread || isRelative(value)
		if p.urls == nil {
			p.urls = make(map[string]bool)
		}
		if len(value) <= maxLocation {
			p.urls[value] = true
		}
	}
	for _, after := range strings.Split(value, scheme)[1:] {
		if r.IsText {
			after, _, _ = strings.Cut(after, ")")
		}
		if p.ids == nil {
			p.ids = make(map[string]bool)
		}
		p.ids[strings.Trim(string(ascii.UnescapePercent([]byte(after))), "<>\"' \t\r\n")] = true
	}
}

// isRelative reports whether a URL has neither a scheme nor a host. Programs show the part that they find by it, such as by
// a file's name.
func isRelative(url string) bool {
	first, _, _ := strings.Cut(url, "/")
	return url != "" && url[0] != '#' && !strings.HasPrefix(url, "//") && !strings.Contains(first, ":")
}

// Has reports whether a page shows the picture with a Content-ID or Content-Location, or may do so.
func (p *Pictures) Has(id, location string) bool {
	return p.isUnread || id != "" && p.ids[strings.ToLower(id)] || location != "" && p.urls[strings.ToLower(location)]
}
