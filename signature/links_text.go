package signature

import (
	"bytes"

	"github.com/spambloom/spambloom/signature/suffix"
)

// marks are what the bytes of a word say about it.
type marks uint8

const (
	ends    marks = 1 << iota // the byte is in no word
	dotted                    // a dot
	coloned                   // a colon
)

// wordMarks ends words where mail programs end the links that they find in text.
var wordMarks = func() (m [256]marks) {
	for c := range byte(' ' + 1) {
		m[c] = ends
	}
	for _, c := range []byte("<>\"'`(){}|^,;\x7f") {
		m[c] = ends
	}
	m['.'], m[':'] = dotted, coloned
	return m
}()

// scanText notes the links of a text: URLs with a scheme of the web, host names that
// begin with "www.", and host names with a path. Mail addresses are no links: their
// domains are those of the people who write to each other.
func (l *links) scanText(text []byte, r rank) {
	for at := 0; at < len(text); {
		begin := at
		var seen marks
		for at < len(text) && wordMarks[text[at]]&ends == 0 {
			seen |= wordMarks[text[at]]
			at++
		}
		if seen != 0 && at-begin >= 4 {
			l.scanWord(text[begin:at], r)
		}
		at++
	}
}

func (l *links) scanWord(word []byte, r rank) {
	word = word[:min(len(word), 2*maxURL)]
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
		l.addURL(trimSentence(word), max(r, bare))
	}
}

// trimSentence takes away what ends the sentence, not the URL.
func trimSentence(b []byte) []byte { return bytes.TrimRight(b, ".:!?]*") }

// isHost says whether a word is surely a host, without a scheme: www.… or one of a
// top level domain there is, with a path.
func (l *links) isHost(word []byte) bool {
	if hasFoldPrefix(word, "www.") {
		return true
	}
	end := bytes.IndexByte(word, '/')
	if end < 4 || bytes.IndexByte(word[:end], '.') < 0 || bytes.IndexByte(word[:end], '@') >= 0 {
		return false
	}
	host := string(bytes.ToLower(word[:end]))
	return isHostName(host) && suffix.Known(host)
}
