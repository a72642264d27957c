// Package charsets knows names of charsets, and forms of text, that occur in mail or that mail
// programs show, and that the libraries lack.
package charsets

import (
	"bytes"
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/spambloom/spambloom/signature/ascii"
)

// aliases are names that occur in mail and are unknown to the libraries.
var aliases = map[string]string{
	"ks_c_5601": "euc-kr", "win-1251": "windows-1251", "utf-8mb4": "utf-8", "iso8859_15": "iso-8859-15", "latin-1": "iso-8859-1",
	"ansi": "windows-1252", "x-ansi": "windows-1252", "646": "us-ascii", "windows-1252http-equiv": "windows-1252",
	"replacement": "us-ascii", // browsers show nothing of it, mail programs what is ASCII of it
}

// compactAliases are further ones as compact returns them. Mail programs that use iconv read all of them.
var compactAliases = map[string]string{
	"cp932": "shift_jis", "ibm932": "shift_jis", "ibm943": "shift_jis", "windows31j": "shift_jis", "sjiswin": "shift_jis",
	"sjisopen": "shift_jis", "shiftjisx0213": "shift_jis", "cp949": "euc-kr", "mscp949": "euc-kr", "uhc": "euc-kr", "windows949": "euc-kr",
	"eucjp": "euc-jp", "ujis": "euc-jp", "eucjpms": "euc-jp", "eucjpwin": "euc-jp", "eucjpopen": "euc-jp", "eucjisx0213": "euc-jp",
	"iso2022jp1": "iso-2022-jp", "iso2022jp2": "iso-2022-jp", "iso2022jp3": "iso-2022-jp", "cp50220": "iso-2022-jp",
	"big5hkscs": "big5", "big5": "big5", "cp950": "big5", "euccn": "gb18030", "cngb": "gb18030", "gb13000": "gb18030",
	"cp874": "windows-874", "cp1251": "windows-1251", "cp866nav": "ibm866", "866nav": "ibm866",
	"maccyrillic": "x-mac-cyrillic", "msmaccyrillic": "x-mac-cyrillic", "macuk": "x-mac-cyrillic", "macukrainian": "x-mac-cyrillic",
	"cp10007": "x-mac-cyrillic", "cp915": "iso-8859-5", "ibm915": "iso-8859-5", "cp813": "iso-8859-7", "ibm813": "iso-8859-7",
	"cp916": "iso-8859-8", "ibm916": "iso-8859-8",
	"ucs2be": "utf-16be", "unicodebig": "utf-16be", "ucs2le": "utf-16le", "unicodelittle": "utf-16le", "ucs2": "ucs-2",
}

// ebcdic are the numbers of code pages that have the letters A to Z where IBM037 has them. The
// libraries have two of them, and mail programs that use iconv or ICU have all.
var ebcdic = numbers(`37 38 256 273 274 275 277 278 280 281 282 284 285 297 420 423 424 500 500v1 870 871 875 880 905 918 924 933 935 937
	939 1025 1026 1047 1070 1079 1081 1084 1097 1112 1122 1123 1130 1132 1137 1140 1141 1142 1143 1144 1145 1146 1147 1148 1149
	1153 1154 1155 1156 1157 1158 1160 1164 1166 1364 1371 1388 1399 4517 4971 9030 12712 16804`)

func numbers(list string) map[string]bool {
	set := make(map[string]bool)
	for _, n := range strings.Fields(list) {
		set[n] = true
	}
	return set
}

// separators are dropped by compact.
var separators = strings.NewReplacer("-", "", "_", "", ".", "", ":", "", " ", "")

// longest is more than the length of any name of a charset. A sender may write a name of 1 MiB.
const longest = 64

// compact returns a name without what programs ignore in it: separators, and what marks it as one of their own.
// A name that is too long to be one is empty.
func compact(name string) string {
	if len(name) > longest {
		return ""
	}
	return strings.TrimPrefix(separators.Replace(strings.TrimPrefix(name, "x-")), "cs")
}

// Name returns the name by which the libraries know a charset, which is given in lower case.
func Name(name string) string {
	short := compact(name)
	if isEBCDIC(short) {
		return "ibm037"
	}
	if part, ok := strings.CutPrefix(short, "8859"); ok {
		return "iso-8859-" + part
	}
	return cmp.Or(aliases[name], compactAliases[short], name)
}

// isEBCDIC reports whether a compact name is that of such a code page, such as ibm273, cp500 or ebcdiccpbe.
func isEBCDIC(short string) bool {
	if strings.HasPrefix(short, "ebcdic") {
		return true
	}
	for _, prefix := range []string{"ibm", "cp"} {
		short = strings.TrimPrefix(short, prefix)
	}
	return ebcdic[strings.TrimLeft(short, "0")]
}

// IsUTF7 reports whether a name, as Known returns it, is one of UTF-7.
func IsUTF7(name string) bool {
	switch compact(name) {
	case "utf7", "unicode11utf7", "unicode20utf7", "cp65000":
		return true
	}
	return false
}

// Known returns text in a charset that the libraries know, and its name.
func Known(text []byte, name string) ([]byte, string) {
	if isOther(name) && isUTF8(text) && !(hasPairs(name) && isUTF16(text)) {
		return text, "us-ascii"
	}
	switch compact(name) {
	case "iso2022kr", "iso2022cn", "iso2022cnext":
		return unshift(text)
	case "utf32", "utf32be", "utf32le", "ucs4", "ucs4be", "ucs4le", "iso10646ucs4":
		if bytes.IndexByte(text, 0) >= 0 { // otherwise it is in another charset, as programs show it
			return fromUTF32(text), "utf-8"
		}
		return text, "utf-32"
	case "utf7imap":
		return fromIMAP(text), "utf-7"
	}
	return text, Name(name)
}

// isOther reports whether the letters of ASCII have other bytes, or more of them, in a charset.
func isOther(name string) bool {
	short := compact(Name(name))
	for _, prefix := range []string{"ibm037", "utf16", "utf32", "ucs", "iso10646ucs", "unicodefe", "unicodeff"} {
		if strings.HasPrefix(short, prefix) {
			return true
		}
	}
	return short == "unicode"
}

// hasPairs reports whether a charset is UTF-16, or what it was before.
func hasPairs(name string) bool {
	short := strings.TrimPrefix(compact(Name(name)), "iso10646")
	return strings.HasPrefix(short, "utf16") || strings.HasPrefix(short, "ucs2") || strings.HasPrefix(short, "unicode")
}

// isUTF8 reports whether most of a text are letters and blanks of UTF-8, so that it is in none of the charsets
// of isOther: there, at most half of the bytes are such, and the blank of EBCDIC is the @ of ASCII. Programs
// that do not know the name of the charset, or find it wrong, show the text.
func isUTF8(text []byte) bool {
	letters, rest := 0, text
	for len(rest) > 0 {
		_, size := utf8.DecodeRune(rest)
		if size > 1 || rest[0] == ' ' || ascii.IsLetter(rest[0]) {
			letters += size
		}
		rest = rest[size:]
	}
	return 8*letters > 5*len(text) && bytes.Count(text, []byte("@")) <= bytes.Count(text, []byte(" "))
}

// isUTF16 reports whether two characters of ASCII follow each other in UTF-16, as in each page. What stands beside
// them, such as a long comment, may consist of characters of two bytes that are letters of ASCII.
func isUTF16(text []byte) bool {
	for i := 0; i+4 < len(text); i++ {
		if text[i] == 0 && text[i+1] != 0 && text[i+2] == 0 && text[i+3] != 0 && text[i+4] == 0 {
			return true
		}
	}
	return false
}

// unshift converts ISO-2022-KR (RFC 1557) to EUC-KR, and ISO-2022-CN (RFC 1922) to EUC-CN. Of the latter's
// other sets of characters, and without a set, what is ASCII stays; and text without any set is what it would be without a name.
func unshift(text []byte) (out []byte, name string) {
	const shiftOut, shiftIn, escape = 0x0e, 0x0f, 0x1b
	out, name = make([]byte, 0, len(text)), "us-ascii"
	isKnown, isShifted := false, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == escape && i+3 < len(text) && text[i+1] == '$' && (text[i+2] == ')' || text[i+2] == '*'):
			if set := text[i+3]; text[i+2] == ')' {
				isKnown = set == 'A' || set == 'C'
				switch set {
				case 'A':
					name = "gb18030"
				case 'C':
					name = "euc-kr"
				}
			}
			i += 3
		case c == shiftOut || c == shiftIn:
			isShifted = c == shiftOut
		case c == '\n':
			isShifted = false // each line begins in ASCII
			out = append(out, c)
		case isKnown && isShifted && c > ' ' && c < 0x7f:
			out = append(out, c|0x80)
		default:
			out = append(out, c)
		}
	}
	return out, name
}

// fromIMAP converts the UTF-7 of folder names (RFC 3501 section 5.1.3) to that of mail.
func fromIMAP(text []byte) []byte {
	out, isShifted := make([]byte, 0, len(text)+len(text)/8), false
	for i, c := range text {
		switch isSign := i+1 < len(text) && text[i+1] == '-'; {
		case c == '&' && !isShifted && isSign: // its "-" is dropped below
		case c == '-' && !isShifted && i > 0 && text[i-1] == '&':
			continue
		case c == '&' && !isShifted:
			c, isShifted = '+', true
		case c == ',' && isShifted:
			c = '/'
		case c == '+' && !isShifted:
			out, c = append(out, '+'), '-'
		case c == '-' || c <= ' ':
			isShifted = false
		}
		out = append(out, c)
	}
	return out
}

// fromUTF32 converts UTF-32 to UTF-8. The order of bytes is that in which the first character is one.
func fromUTF32(text []byte) []byte {
	out := make([]byte, 0, len(text))
	isLittle := len(text) > 1 && (text[0] != 0 || text[1] > 0x10)
	for ; len(text) >= 4; text = text[4:] {
		r := rune(text[0])<<24 | rune(text[1])<<16 | rune(text[2])<<8 | rune(text[3])
		if isLittle {
			r = rune(text[3])<<24 | rune(text[2])<<16 | rune(text[1])<<8 | rune(text[0])
		}
		if len(out) > 0 || r != 0xFEFF { // a byte order mark
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}
