package mail

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/emersion/go-message/charset"
	htmlcharset "golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/mail/charsets"
	"github.com/spambloom/spambloom/signature/mail/utf7"
)

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
	text, name = charsets.Known(text, name)
	if charsets.IsUTF7(name) {
		return utf7.Decode(text)
	}
	name = ascii.ByteOrder(name, text)
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
