package mail

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/emersion/go-message/charset"
	"github.com/wlynxg/chardet"
	"github.com/wlynxg/chardet/consts"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/mail/charsets"
	"github.com/spambloom/spambloom/signature/work"
)

const (
	// maxDetected bounds the bytes of a text from which its charset is detected.
	maxDetected = 1 << 10
	// leastConfidence is the confidence, 0 to 1, that a detected charset needs.
	leastConfidence = 0.6
	// fewestDoubtful is how many bytes that are not ASCII a text needs. Fewer have too
	// little content in any charset.
	fewestDoubtful = 48
)

// detectable are the charsets that are detected, by the names that the detector gives them.
// Others are declared rightly or do not matter: their letters are separated by blanks.
var detectable = map[string]string{
	consts.UTF8: "utf-8", consts.GB2312: "gb18030", consts.Big5: "big5", consts.ShiftJis: "shift_jis", "Shift_JIS": "shift_jis",
	consts.CP932: "shift_jis", consts.EucJp: "euc-jp", consts.EucKr: "euc-kr", consts.CP949: "euc-kr",
	"ISO-2022-JP": "iso-2022-jp",
}

// Detect returns the charset of a text whose declared charset gives no sense, or "" if
// the declared one stands. A page may name the charset itself; otherwise it is detected
// from the bytes. Only charsets that are declared by default, or under which the text has
// bytes without a meaning, are doubted. Steps may be nil.
func Detect(text []byte, declared string, isHTML bool, steps *work.Steps) string {
	if ascii.Is(text) || countDoubtful(text) < fewestDoubtful && bytes.IndexByte(text, 0x1b) < 0 || !isDoubtful(text, declared) {
		return ""
	}
	if isHTML {
		if _, name := namedByPage(text); name != "" && isLegible(text, name) {
			return name
		}
	}
	from := bytes.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf || r == 0x1b })
	sample := text[from:min(len(text), from+maxDetected)]
	steps.Count(work.PerDetected + work.PerDetectedByte*len(sample))
	d := chardet.NewUniversalDetector(consts.CjkLangFilter)
	d.Feed(sample)
	found := d.GetResult()
	if name := detectable[found.Encoding]; name != "" && found.Confidence >= leastConfidence && isLegible(text, name) {
		return name
	}
	if isThai(sample) {
		return "windows-874"
	}
	return ""
}

// isThai reports whether text is in TIS-620: of its bytes that are not ASCII, all are
// letters or marks of Thai, and a quarter are marks or vowels that stand before a letter.
// The detector's models of charsets with one byte a letter cost more than signing a message.
func isThai(text []byte) bool {
	marks, others := 0, 0
	for _, c := range text {
		switch {
		case c < utf8.RuneSelf:
		case c == 0xD1, 0xD4 <= c && c <= 0xDA, 0xE0 <= c && c <= 0xE4, 0xE7 <= c && c <= 0xEE:
			marks++
		case 0xA1 <= c && c <= 0xDA, 0xDF <= c && c <= 0xFB:
			others++
		default:
			return false
		}
	}
	return marks > 0 && 3*marks >= others && marks <= 2*others
}

// countDoubtful returns the number of bytes that are not ASCII, or switch charsets.
func countDoubtful(text []byte) (n int) {
	for _, c := range text {
		if c >= utf8.RuneSelf || c == 0x1b {
			n++
		}
	}
	return n
}

// isDoubtful reports whether a charset may have been declared by default: it is the
// Western one, or the text has bytes that mean nothing in it.
func isDoubtful(text []byte, declared string) bool {
	switch declared = strings.Trim(declared, `"' `); declared {
	case "", "us-ascii", "ascii", "iso-8859-1", "iso-8859-15", "windows-1252", "latin1", "latin-1", "cp1252", "ansi":
		return true
	}
	return !isLegible(text, charsets.Name(declared))
}

// isLegible reports whether a text has hardly any bytes without a meaning in a charset:
// fewer than one for 32 characters that are not ASCII.
func isLegible(text []byte, name string) bool {
	text = text[:min(len(text), 4*maxDetected)]
	r, err := charset.Reader(name, bytes.NewReader(text))
	if err != nil {
		return false
	}
	converted, err := appendAll(make([]byte, 0, len(text)+len(text)/2), r)
	if err != nil {
		return false
	}
	wrong, others := 0, 0
	for _, r := range string(converted) {
		switch {
		case r == utf8.RuneError, 0x80 <= r && r < 0xA0, 0xE000 <= r && r < 0xF900:
			wrong++
		case r >= utf8.RuneSelf:
			others++
		}
	}
	return 32*wrong <= others
}
