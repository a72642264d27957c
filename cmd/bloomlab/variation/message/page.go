package message

import "regexp"

// PageParts are the HTML parts of a message.
func (m *Mail) PageParts() []*Part {
	var list []*Part
	for _, p := range m.TextParts() {
		if p.Type == "text/html" {
			list = append(list, p)
		}
	}
	return list
}

// links matches a link: its scheme, host, port and path.
var links = regexp.MustCompile(`(?i)(https?://)([a-z0-9.-]+)(:\d+)?(/[^\s"'<>)]*)?`)

// EditLinks changes the links of all texts. It reports whether there is one.
func (m *Mail) EditLinks(edit func(scheme, host, rest string) string) bool {
	changed := false
	for _, p := range m.TextParts() {
		next := links.ReplaceAllStringFunc(string(p.Body), func(link string) string {
			g := links.FindStringSubmatch(link)
			changed = true
			return edit(g[1], g[2], g[3]+g[4])
		})
		p.Body = []byte(next)
	}
	return changed
}

// Pages returns the sources of the HTML parts.
func (m *Mail) Pages() []string {
	var list []string
	for _, p := range m.PageParts() {
		list = append(list, string(p.Body))
	}
	return list
}

// EditTags changes the start tags of the pages.
func (m *Mail) EditTags(edit func(tag string) string) bool {
	changed := false
	for _, p := range m.PageParts() {
		list := p.Pieces()
		for i := range list {
			if list[i].Read || !startTagPattern.MatchString(list[i].Source) {
				continue
			}
			next := edit(list[i].Source)
			changed = changed || next != list[i].Source
			list[i].Source = next
		}
		p.SetPieces(list)
	}
	return changed
}

var startTagPattern = regexp.MustCompile(`^<[a-zA-Z]`)
