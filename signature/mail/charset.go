package mail

import (
	"bytes"
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/emersion/go-message/charset"
	htmlcharset "golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/mail/utf7"
)

// charsetAliases are names that occur in mail and are unknown to the libraries.
var charsetAliases = map[string]string{
	"cp932": "shift_jis", "ks_c_5601": "euc-kr", "cp949": "euc-kr", "uhc": "euc-kr", "x-windows-949": "euc-kr",
	"cp874": "windows-874", "cp-1251": "windows-1251", "win-1251": "windows-1251", "eucjp": "euc-jp", "ujis": "euc-jp",
	"iso-2022-jp-1": "iso-2022-jp", "iso-2022-jp-2": "iso-2022-jp", "cp50220": "iso-2022-jp", "utf-8mb4": "utf-8",
	"iso8859_15": "iso-8859-15", "8859-1": "iso-8859-1", "latin-1": "iso-8859-1", "ansi": "windows-1252", "x-ansi": "windows-1252",
	"x-big5": "big5", "cp950": "big5", "646": "us-ascii", "windows-1252http-equiv": "windows-1252",
	// Browsers show nothing of these, mail programs what is ASCII of them.
	"iso-2022-kr": "us-ascii", "csiso2022kr": "us-ascii", "iso-2022-cn": "us-ascii", "iso-2022-cn-ext": "us-ascii", "replacement": "us-ascii",
}

var isUTF7 = map[string]bool{"utf-7": true, "unicode-1-1-utf-7": true, "x-unicode-2-0-utf-7": true, "unicode-2-0-utf-7": true}

// asciiSupersets are the beginnings of the names of charsets in which bytes below 0x80
// mean ASCII wherever they stand alone.
var asciiSupersets = []string{"us-ascii", "ascii", "utf-8", "utf8", "iso-8859-", "windows-", "cp125", "koi8-", "gb", "big5", "euc-", "ks_c_"}

// ToUTF8 converts text from the charset with the given name, lower case, to UTF-8. If the
// name is empty or unknown, an HTML page may name a charset itself. Otherwise the text is
// UTF-8 if it is valid, and Windows-1252 if not. Bytes without a meaning become U+FFFD. A
// declared charset counts even if the bytes look like another one, as mail programs show
// it so.
func ToUTF8(text []byte, name string, isHTML bool) []byte {
	name = strings.Trim(name, `"' `)
	if isUTF7[name] {
		return utf7.Decode(text)
	}
	name = ascii.ByteOrder(knownCharset(name), text)
	if ascii.Is(text) && (name == "" || hasAnyPrefix(name, asciiSupersets) || isWide(name) && bytes.IndexByte(text, 0) < 0) {
		return text
	}
	switch name {
	case "utf-8", "utf8":
		return bytes.ToValidUTF8(text, []byte("\uFFFD"))
	case "", "us-ascii", "ascii":
	default:
		if r, err := charset.Reader(name, bytes.NewReader(text)); err == nil {
			if converted, err := appendAll(make([]byte, 0, len(text)+len(text)/2), r); err == nil {
				return converted
			}
		}
	}
	return guessUTF8(text, isHTML)
}

// ebcdic are the numbers of code pages that have the letters A to Z where IBM037 has them. The
// libraries have two of them, and mail programs that use iconv or ICU have all.
var ebcdic = map[string]bool{
	"37": true, "273": true, "277": true, "278": true, "280": true, "284": true, "285": true, "297": true, "420": true, "423": true, "424": true,
	"500": true, "870": true, "871": true, "880": true, "905": true, "918": true, "924": true, "1025": true, "1026": true, "1047": true, "1112": true,
	"1122": true, "1123": true, "1130": true, "1132": true, "1140": true, "1141": true, "1142": true, "1143": true, "1144": true,
	"1145": true, "1146": true, "1147": true, "1148": true, "1149": true,
}

// knownCharset returns the name by which the libraries know a charset.
func knownCharset(name string) string {
	if isEBCDIC(name) {
		return "ibm037"
	}
	return cmp.Or(charsetAliases[name], name)
}

// isEBCDIC reports whether a name is that of such a code page, such as ibm-273, cp500 or ebcdic-cp-be.
func isEBCDIC(name string) bool {
	if strings.HasPrefix(name, "ebcdic") {
		return true
	}
	for _, prefix := range []string{"ibm", "csibm", "cp"} {
		if number, ok := strings.CutPrefix(name, prefix); ok {
			return ebcdic[strings.TrimLeft(number, "-_0")]
		}
	}
	return false
}

// isWide reports whether each ASCII character has a zero byte in a charset, so that text without
// one is in another charset, as programs show it.
func isWide(name string) bool {
	return strings.HasPrefix(name, "utf-16") || strings.HasPrefix(name, "utf-32")
}

func guessUTF8(text []byte, isHTML bool) []byte {
	if isHTML {
		if e, name := namedByPage(text); name != "" {
			if converted, err := e.NewDecoder().Bytes(text); err == nil {
				return converted
			}
		}
	}
	if utf8.Valid(text) {
		return text
	}
	converted, _ := charmap.Windows1252.NewDecoder().Bytes(text) // never fails: each byte is mapped
	return converted
}

// namedByPage returns the charset that an HTML page names; "" if that is one of the usual ones, or one
// that browsers replace by a single sign, as other programs show the text.
func namedByPage(text []byte) (encoding.Encoding, string) {
	e, name, _ := htmlcharset.DetermineEncoding(text, "")
	switch name {
	case "utf-8", "windows-1252", "replacement":
		name = ""
	}
	return e, name
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
