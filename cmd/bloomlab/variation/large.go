package variation

import (
	"strings"
	"unicode"

	"github.com/spambloom/spambloom/cmd/bloomlab/variation/message"
)

// shuffleParagraphs changes the order of a part's paragraphs. The markup between them
// is unchanged.
func shuffleParagraphs(d *draw, m *message.Mail) bool {
	changed := false
	for _, p := range m.TextParts() {
		list, isText := p.Paragraphs()
		var places []int
		for i := range list {
			if isText[i] {
				places = append(places, i)
			}
		}
		changed = changed || len(places) > 2
		d.Shuffle(len(places), func(i, j int) {
			a, b := places[i], places[j]
			list[a], list[b] = list[b], list[a]
		})
		p.Body = []byte(strings.Join(list, ""))
	}
	return changed
}

func shuffleSentences(d *draw, m *message.Mail) bool {
	return m.EditSentences(func(list []string) []string {
		d.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list
	})
}

// template makes a campaign in which a share of the words is in sentences that have
// several wordings. The copy has another wording of each.
func template(share float64) func(*draw, *message.Mail) bool {
	return func(d *draw, m *message.Mail) bool {
		if len(d.from.Sentences) == 0 {
			return false
		}
		return m.EditSentences(func(list []string) []string {
			total := len(message.WordsOf(strings.Join(list, " ")))
			left := int(share * float64(total))
			for _, i := range d.Perm(len(list)) {
				n := len(message.WordsOf(list[i]))
				if n < 2 || n > left+n/2 {
					continue
				}
				left -= n
				list[i] = d.wording(n)
			}
			return list
		})
	}
}

// wording is a sentence of about n words.
func (d *draw) wording(n int) string {
	var list []string
	for tries := 0; len(list) < n && tries < 50; tries++ {
		list = append(list, message.WordsOf(one(d, d.from.Sentences))...)
	}
	return strings.Join(list[:min(n, len(list))], " ")
}

func pad(before bool) func(*draw, *message.Mail) bool {
	return func(d *draw, m *message.Mail) bool {
		if len(d.from.Pages) == 0 {
			return false
		}
		page := one(d, d.from.Pages)
		if before {
			return m.PrependAll(page)
		}
		return m.AppendAll(page)
	}
}

// truncate keeps the first 60 % of the words that are read.
func truncate(_ *draw, m *message.Mail) bool {
	for _, p := range m.TextParts() {
		total := 0
		list := p.Pieces()
		for _, piece := range list {
			if piece.Read {
				total += len(message.WordsOf(piece.Source))
			}
		}
		left := total * 6 / 10
		for i := range list {
			if list[i].Read {
				list[i].Source, left = firstWords(list[i].Source, left)
			}
		}
		p.SetPieces(list)
	}
	return len(m.TextParts()) > 0
}

// firstWords is the text up to its n-th word, and what is left of n.
func firstWords(text string, n int) (string, int) {
	at := message.WordPattern.FindAllStringIndex(text, -1)
	if len(at) <= n {
		return text, n - len(at)
	}
	if n == 0 {
		return "", 0
	}
	return text[:at[n-1][1]], 0
}

func joinMails(d *draw, m *message.Mail) bool {
	if len(d.from.Others) == 0 {
		return false
	}
	other := one(d, d.from.Others)
	text := strings.TrimFunc(other.Text(), unicode.IsSpace)
	return other.Name != m.Name && text != "" && m.AppendAll(text)
}
