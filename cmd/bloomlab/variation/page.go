package variation

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/cmd/bloomlab/variation/message"
)

// swappedInPages is the share of the words that the page kinds swap, so that the words alone do
// not recognise the copies.
const swappedInPages = 0.4

// pageKinds keep a page and change its words, and each something else. They are about messages
// with HTML only.
func pageKinds() []Kind {
	return []Kind{
		{Name: "page-words", About: "the page kept, 40 % of the words swapped for others", vary: page()},
		{Name: "page-few-words", About: "the page kept, 80 % of the words swapped for others", vary: page(swapWords(0.66))},
		{Name: "page-pictures", About: "page-words, and other hosts of the pictures", vary: page(changePictureHosts)},
		{Name: "page-rows", About: "page-words, and one to three rows or paragraphs doubled or removed", vary: page(changeRows)},
		{Name: "page-wrappers", About: "page-words, and one to three elements around the page", vary: page(wrapPage)},
		{Name: "page-classes", About: "page-words, and random class names and comments", vary: page(changeClasses)},
		{Name: "page-attributes", About: "page-words, and the attributes in another order", vary: page(reorderAttributes)},
		{Name: "page-links", About: "page-words, and each link with a part for its recipient", vary: page(personalLinks)},
		{Name: "page-redirects", About: "page-words, and each link behind a redirector", vary: page(redirectLinks)},
		{Name: "page-poison", About: "page-words, and a plain text of innocent words beside it", vary: page(poison)},
	}
}

// page swaps words in the pages of a message, and applies the changes.
func page(changes ...func(*draw, *message.Mail) bool) func(*draw, *message.Mail) bool {
	return func(d *draw, m *message.Mail) bool {
		if len(m.PageParts()) == 0 || !swapWords(swappedInPages)(d, m) {
			return false
		}
		for _, change := range changes {
			if !change(d, m) {
				return false
			}
		}
		return true
	}
}

var (
	pictureSource    = regexp.MustCompile(`(?i)(\ssrc\s*=\s*["']?https?://)[^/"'\s>]+`)
	linkTarget       = regexp.MustCompile(`(?i)(<a\s[^>]*?\bhref\s*=\s*)(?:"(https?://[^"]*)"|'(https?://[^']*)')`)
	classAttribute   = regexp.MustCompile(`(?i)\sclass\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)`)
	attributePattern = regexp.MustCompile(`\s+[a-zA-Z:-]+\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)`)
	rowPattern       = regexp.MustCompile(`(?is)<tr\b[^>]*>(?:[^<]|<[^/t]|<t[^ra]|</[^t]|</t[^ra])*?</tr\s*>|<p\b[^>]*>(?:[^<]|<[^p/]|</[^p])*?</p\s*>`)
	bodyPattern      = regexp.MustCompile(`(?is)^(.*<body\b[^>]*>)(.*)(</body\s*>.*)$`)
)

func changePictureHosts(d *draw, m *message.Mail) bool {
	return m.EditTags(func(tag string) string {
		host := "img." + d.token(9) + ".example"
		return pictureSource.ReplaceAllString(tag, "${1}"+host)
	})
}

// changeRows doubles or removes innermost table rows or paragraphs.
func changeRows(d *draw, m *message.Mail) bool {
	changed := false
	for _, p := range m.PageParts() {
		rows := rowPattern.FindAllIndex(p.Body, -1)
		if len(rows) < 2 {
			continue
		}
		changed = true
		chosen := d.Perm(len(rows))[:min(1+d.IntN(3), len(rows)-1)]
		slices.SortFunc(chosen, func(a, b int) int { return b - a }) // from the end
		for _, i := range chosen {
			begin, end := rows[i][0], rows[i][1]
			if d.chance(0.5) {
				p.Body = slices.Delete(p.Body, begin, end)
			} else {
				p.Body = slices.Insert(p.Body, end, slices.Clone(p.Body[begin:end])...)
			}
		}
	}
	return changed
}

func wrapPage(d *draw, m *message.Mail) bool {
	for _, p := range m.PageParts() {
		begin, end := "", ""
		for range 1 + d.IntN(3) {
			w := one(d, [][2]string{{"<div>", "</div>"}, {"<center>", "</center>"}, {"<table><tr><td>", "</td></tr></table>"}})
			begin, end = begin+w[0], w[1]+end
		}
		if g := bodyPattern.FindSubmatch(p.Body); g != nil {
			p.Body = []byte(string(g[1]) + begin + string(g[2]) + end + string(g[3]))
		} else {
			p.Body = []byte(begin + string(p.Body) + end)
		}
	}
	return true
}

// changeClasses gives a random class to a third of the elements without one, and puts comments
// before a tenth. It keeps other classes, which the page's style sheet may name.
func changeClasses(d *draw, m *message.Mail) bool {
	return m.EditTags(func(tag string) string {
		if classAttribute.MatchString(tag) {
			return tag
		}
		if d.chance(0.3) {
			at := len(startName.FindString(tag))
			tag = tag[:at] + ` class="` + d.token(6) + `"` + tag[at:]
		}
		if d.chance(0.1) {
			tag = "<!-- " + d.token(8) + " -->" + tag
		}
		return tag
	})
}

var startName = regexp.MustCompile(`^<[a-zA-Z][a-zA-Z0-9]*`)

func reorderAttributes(d *draw, m *message.Mail) bool {
	return m.EditTags(func(tag string) string {
		found := attributePattern.FindAllString(tag, -1)
		if len(found) < 2 || !isPlain(tag, found) {
			return tag
		}
		name := startName.FindString(tag)
		end := ">"
		if strings.HasSuffix(tag, "/>") {
			end = "/>"
		}
		d.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
		return name + strings.Join(found, "") + " " + end
	})
}

// isPlain reports whether a tag is its name and these attributes only.
func isPlain(tag string, attributes []string) bool {
	rest := tag[len(startName.FindString(tag)):]
	for _, a := range attributes {
		rest = strings.Replace(rest, a, "", 1)
	}
	return strings.Trim(rest, " \t\r\n/>") == ""
}

func personalLinks(d *draw, m *message.Mail) bool {
	return editTargets(m, func(target string) string {
		hex := fmt.Sprintf("%016x", d.Uint64())
		if before, after, has := strings.Cut(target, "?"); has {
			return before + "?" + after + "&amp;r=" + hex
		}
		return strings.TrimSuffix(target, "/") + "/" + hex
	})
}

func redirectLinks(d *draw, m *message.Mail) bool {
	return editTargets(m, func(target string) string {
		return one(d, []string{
			"https://www.google.com/url?q=" + url.QueryEscape(target) + "&amp;sa=D&amp;ust=" + d.token(12),
			"https://eur01.safelinks.protection.outlook.com/?url=" + url.QueryEscape(target) + "&amp;data=" + d.token(20),
			"https://urldefense.com/v3/__" + target + "__;!!" + d.token(10),
		})
	})
}

func editTargets(m *message.Mail, edit func(target string) string) bool {
	return m.EditTags(func(tag string) string {
		g := linkTarget.FindStringSubmatch(tag)
		if g == nil {
			return tag
		}
		return strings.Replace(tag, g[0], g[1]+`"`+edit(g[2]+g[3])+`"`, 1)
	})
}

// poison makes the page one of two alternatives, whose other one is a page of innocent words.
func poison(d *draw, m *message.Mail) bool {
	pages := m.PageParts()
	if len(d.from.Pages) == 0 {
		return false
	}
	m.Root = &message.Part{Type: "multipart/alternative", Params: map[string]string{},
		Children: []*message.Part{message.TextPart("text/plain", one(d, d.from.Pages)+"\n"), pages[0]}}
	return true
}
