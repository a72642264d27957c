package links

import (
	"bytes"
	"encoding/binary"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/page"
	"github.com/spambloom/spambloom/signature/suffix"
	"github.com/spambloom/spambloom/signature/work"
)

// marks are properties of a word's bytes.
type marks uint8

const (
	ends     marks = 1 << iota // the byte is in no word
	dotted                     // a dot
	coloned                    // a colon
	slashed                    // a slash
	lettered                   // the letter that "www." begins with
)

// wordMarks ends words where mail programs end the links that they find in text.
var wordMarks = func() (m [256]marks) {
	for c := range byte(' ' + 1) {
		m[c] = ends
	}
	for _, c := range []byte("<>\"'`(){}|^,;\x7f") {
		m[c] = ends
	}
	m['.'], m[':'], m['/'], m['w'], m['W'] = dotted, coloned, slashed, lettered, lettered
	return m
}()

// scanText records the links of a text: URLs with a scheme of the web, host names that
// begin with "www.", and host names with a path. Mail addresses are no links: their
// domains belong to the people who write to each other.
func (l *Finder) scanText(text []byte, r page.Rank) {
	l.work.Spend(len(text) / 4)
	dot, colon := indexFrom(text, '.', 0), indexFrom(text, ':', 0)
	for end := 0; min(dot, colon) < len(text) && !l.work.IsOver(); {
		begin := min(dot, colon)
		for begin > end && wordMarks[text[begin-1]]&ends == 0 {
			begin--
		}
		var seen marks
		for end = begin; end < len(text) && wordMarks[text[end]]&ends == 0; end++ {
			seen |= wordMarks[text[end]]
		}
		if mayLink[seen] && end-begin >= 4 {
			l.scanWord(text[begin:end], r)
		}
		if dot < end {
			dot = indexFrom(text, '.', end)
		}
		if colon < end {
			colon = indexFrom(text, ':', end)
		}
	}
}

// indexFrom returns the index of the first c in text at or after from; the length of text if
// there is none.
func indexFrom(text []byte, c byte, from int) int {
	if i := bytes.IndexByte(text[from:], c); i >= 0 {
		return from + i
	}
	return len(text)
}

// mayLink reports, by the marks of a word, whether it may be a link: it has a colon, or a
// dot with a slash or a "w".
var mayLink = func() (m [2 * lettered]bool) {
	for i := range m {
		has := marks(i)
		m[i] = has&coloned != 0 || has&dotted != 0 && has&(slashed|lettered) != 0
	}
	return m
}()

func (l *Finder) scanWord(word []byte, r page.Rank) {
	word = word[:min(len(word), 2*maxURL)]
	l.work.Spend(work.PerToken + len(word)/4)
	for at := 0; ; {
		i := bytes.IndexByte(word[at:], ':')
		if i < 0 {
			break
		}
		at += i + 1
		if at < len(word) && isSlash(word[at]) && schemeBefore(word[:at-1]) {
			l.addURL(trimSentence(word[at:]), r)
			return
		}
	}
	if word = bytes.TrimLeft(word, "[*_-=~.:!"); l.isHost(word) {
		l.addURL(trimSentence(word), max(r, page.Bare))
	}
}

// trimSentence removes signs that end the sentence, not the URL.
func trimSentence(b []byte) []byte { return bytes.TrimRight(b, ".:!?]*") }

// isHost reports whether a word is certainly a host, without a scheme: www.… or a name
// of an existing top level domain, with a path.
func (l *Finder) isHost(word []byte) bool {
	if ascii.HasPrefixFold(word, "www.") {
		return true
	}
	end := bytes.IndexByte(word, '/')
	if end < 4 || bytes.IndexByte(word[:end], '.') < 0 || bytes.IndexByte(word[:end], '@') >= 0 {
		return false
	}
	l.work.Spend(work.PerToken + end/2)
	host := string(bytes.ToLower(word[:end]))
	return isHostName(host) && suffix.Known(host)
}

// maxListFooter bounds, in bytes, the footer of a mailing list.
const maxListFooter = 2048

// listMarks are words by which software of mailing lists is known in a footer.
// Newsletters have none of them: the links in their footers are their senders' own.
var listMarks = [][]byte{[]byte("mailman/listinfo"), []byte("mailing list"), []byte("sf.net email"), []byte("yahoogroups"), []byte("to post to this group")}

// listMarkStep is the distance of the places at which a text is searched for marks. Each mark
// contains the four bytes of one of them, as it is no shorter than listMarkStep+3.
const listMarkStep = 8

// listMarkStarts are, by four bytes, the distances to them from the beginning of the marks that
// contain them. hasListMark has a bit for each of their hashes: most places need no more.
var listMarkStarts, hasListMark = func() (starts map[uint32][]markStart, has [32]uint64) {
	starts = make(map[uint32][]markStart)
	for _, mark := range listMarks {
		for i := range len(mark) - 3 {
			four := binary.LittleEndian.Uint32(mark[i:])
			starts[four] = append(starts[four], markStart{mark, i})
			has[listMarkSlot(four)/64] |= 1 << (listMarkSlot(four) % 64)
		}
	}
	return starts, has
}()

type markStart struct {
	mark []byte
	at   int
}

func listMarkSlot(four uint32) uint32 { return four * 0x9E3779B1 >> 21 }

// lastListMark returns the last place of a mark in lower, -1 if there is none.
func lastListMark(lower []byte) int {
	last := -1
	for pos := len(lower) - 4; pos >= 0 && last < 0; pos -= listMarkStep {
		four := binary.LittleEndian.Uint32(lower[pos:])
		if slot := listMarkSlot(four); hasListMark[slot/64]&(1<<(slot%64)) == 0 {
			continue
		}
		for _, s := range listMarkStarts[four] {
			if start := pos - s.at; start >= 0 && bytes.HasPrefix(lower[start:], s.mark) {
				last = max(last, start)
			}
		}
	}
	return last
}

// withoutListFooter returns a text without what a mailing list added at its end: from a
// ruler or the mark of a mail signature on, or from the line of the list's address. Links
// to the list's pages and sponsors are in every message of the list, including the spam
// that is sent to it.
func withoutListFooter(text []byte) []byte {
	end := text[max(0, len(text)-maxListFooter):]
	var buf [maxListFooter]byte
	lower := ascii.AppendLower(buf[:0], end)
	last := lastListMark(lower)
	if last < 0 {
		return text
	}
	start := len(end) // of the footer
	for pos := 0; pos < len(end); {
		line, next := mail.CutLine(end, pos)
		if isRuler(line) && pos <= last || pos <= last && last < next {
			start = pos
			break
		}
		pos = next
	}
	return text[:len(text)-len(end)+start]
}

// isRuler reports whether a line stands above a footer: ten or more of one sign, or "--
// ".
func isRuler(line []byte) bool {
	if bytes.Equal(bytes.TrimRight(line, "\r\n"), []byte("-- ")) {
		return true
	}
	line = bytes.TrimSpace(line)
	return len(line) >= 10 && bytes.IndexByte([]byte("-_=~*"), line[0]) >= 0 && len(bytes.Trim(line, string(line[:1]))) == 0
}
