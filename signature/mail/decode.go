package mail

import (
	"bytes"
	"encoding/base64"
	"io"
	"slices"

	"github.com/emersion/go-message"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/work"
)

// decodeTransfer appends to dst the content of raw under a Content-Transfer-Encoding (RFC
// 2045 section 6). An unknown encoding is none. If go-message's decoder fails at a stray byte in
// base64, a loose decoder reads all of raw. That of quoted-printable takes twice as long as the loose
// one, which gives the same where that does not fail. Other encodings than base64 are decoded in place if raw is
// in the room behind dst, as no line becomes longer: the memory for a second copy is not booked.
func decodeTransfer(dst, raw []byte, encoding string) []byte {
	dst = slices.Grow(dst, len(raw)) // no encoding makes content longer
	switch {
	case isIdentity(encoding):
		return append(dst, raw...)
	case isUU[encoding]:
		return appendUU(dst, raw)
	case encoding == "quoted-printable":
		if hasLongLine(raw) {
			raw = rejoin(stripCR(stripFromQuotes(append(dst, raw...)[len(dst):])))
		}
		return appendLooseQP(dst, raw)
	}
	var h message.Header
	h.Set("Content-Transfer-Encoding", encoding)
	if entity, err := message.New(h, bytes.NewReader(raw)); err == nil {
		if decoded, err := appendAll(dst, entity.Body); err == nil {
			return decoded
		}
	}
	return appendLooseBase64(dst, raw)
}

// Steps returns the cost of decoding a part and making its digest.
func (l Leaf) Steps() int {
	if isIdentity(l.encoding) {
		return work.PerPart + len(l.raw)/2
	}
	return work.PerPart + 2*len(l.raw)
}

// File appends to dst the bytes of a file. Unlike its canonical content, these are
// the bytes that its sender encoded, including CR. Without an encoding, and in the line
// ends of quoted-printable, the sender's line ends are unknown: each becomes LF.
func (l Leaf) File(dst []byte) []byte {
	if l.encoding == "base64" {
		return decodeTransfer(dst, l.raw, l.encoding)
	}
	from := len(dst)
	dst = append(dst, l.raw...)
	raw := stripCR(dst[from:])
	if isIdentity(l.encoding) {
		return append(dst[:from], rejoin(stripFromQuotes(raw))...)
	}
	return decodeTransfer(dst[:from], raw, l.encoding) // in place
}

// appendAll appends all of r to dst, which should have room for it.
func appendAll(dst []byte, r io.Reader) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, 512)
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// appendLooseBase64 decodes bytes of the alphabet and drops others. A "=" ends a group,
// not the content.
func appendLooseBase64(dst, raw []byte) []byte {
	var group [4]byte
	n := 0
	flush := func() {
		var out [3]byte
		k, _ := base64.RawStdEncoding.Decode(out[:], group[:n])
		dst = append(dst, out[:k]...)
		n = 0
	}
	for _, c := range raw {
		switch {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '+', c == '/':
			group[n] = c
			if n++; n == len(group) {
				flush()
			}
		case c == '=':
			flush()
		}
	}
	flush()
	return dst
}

// isAllBase64 reports whether raw consists of lines of base64.
func isAllBase64(raw []byte) bool {
	for _, c := range raw {
		if !ascii.IsBase64(c) && c != '=' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

// isUU has the names of an older encoding, which mail programs decode.
var isUU = map[string]bool{"x-uuencode": true, "uuencode": true, "x-uue": true, "uue": true}

// appendUU decodes uuencoded content (POSIX uuencode): lines of a length and that many bytes, four
// characters for three. Lines before "begin" and from "end" on are dropped. Content without
// "begin" is not encoded.
func appendUU(dst, raw []byte) []byte {
	isOpen := bytes.HasPrefix(raw, []byte("begin ")) || bytes.Contains(raw, []byte("\nbegin "))
	if !isOpen {
		return append(dst, raw...)
	}
	isOpen = false
	for pos := 0; pos < len(raw); {
		var line []byte
		line, pos = CutLine(raw, pos)
		switch {
		case !isOpen:
			isOpen = bytes.HasPrefix(line, []byte("begin "))
		case bytes.Equal(line, []byte("end")):
			return dst
		case len(line) > 0:
			dst = appendUULine(dst, line[1:], int(line[0]-' ')&0x3f)
		}
	}
	return dst
}

// appendUULine decodes n bytes, or those that line has. Blanks at its end may be lost.
func appendUULine(dst, line []byte, n int) []byte {
	at := func(i int) uint32 {
		if i >= len(line) {
			return 0
		}
		return uint32(line[i]-' ') & 0x3f
	}
	for i := 0; n > 0 && i < len(line); i, n = i+4, n-3 {
		group := at(i)<<18 | at(i+1)<<12 | at(i+2)<<6 | at(i+3)
		dst = append(dst, []byte{byte(group >> 16), byte(group >> 8), byte(group)}[:min(n, 3)]...)
	}
	return dst
}

// appendLooseQP decodes "=XX" and soft line breaks and keeps all else, except for blanks
// at the end of a line, and for ">" before "From " at its beginning.
func appendLooseQP(dst, raw []byte) []byte {
	for pos := 0; pos < len(raw); {
		line, next := CutLine(raw, pos)
		if unquoted := bytes.TrimLeft(line, ">"); bytes.HasPrefix(unquoted, []byte("From ")) {
			line = unquoted
		}
		line = bytes.TrimRight(line, " \t\r")
		line, soft := bytes.CutSuffix(line, []byte("="))
		for i := 0; i < len(line); i++ {
			if line[i] == '=' && i+2 < len(line) && ascii.IsHex(line[i+1]) && ascii.IsHex(line[i+2]) {
				dst = append(dst, ascii.Unhex(line[i+1])<<4|ascii.Unhex(line[i+2]))
				i += 2
				continue
			}
			dst = append(dst, line[i])
		}
		if !soft && raw[next-1] == '\n' {
			dst = append(dst, '\n')
		}
		pos = next
	}
	return dst
}

// canonical brings decoded content, in place, into the form that does not depend on its
// way. CR before LF is dropped, a line that begins with ">" and then "From " loses the
// ">" (mailboxes add them), and line ends at the end are dropped.
func canonical(content []byte) []byte {
	return bytes.TrimRight(stripFromQuotes(stripCR(content)), "\r\n")
}

// stripCR drops, in place, each run of CR that stands before LF.
func stripCR(b []byte) []byte {
	cr := bytes.IndexByte(b, '\r')
	if cr < 0 {
		return b
	}
	out := b[:cr]
	for rest := b[cr:]; len(rest) > 0; {
		run := len(rest) - len(bytes.TrimLeft(rest, "\r"))
		if run == len(rest) || rest[run] != '\n' {
			out = append(out, rest[:run]...)
		}
		rest = rest[run:]
		cr := bytes.IndexByte(rest, '\r')
		if cr < 0 {
			cr = len(rest)
		}
		out = append(out, rest[:cr]...)
		rest = rest[cr:]
	}
	return out
}

// stripFromQuotes removes, in place, all ">" from lines that go on with "From ".
func stripFromQuotes(b []byte) []byte {
	out := b[:0]
	for rest := b; len(rest) > 0; {
		if rest[0] == '>' { // at the beginning of a line
			if line := bytes.TrimLeft(rest, ">"); bytes.HasPrefix(line, []byte("From ")) {
				rest = line
			}
		}
		quote := bytes.Index(rest, []byte("\n>"))
		if quote < 0 {
			return append(out, rest...)
		}
		out = append(out, rest[:quote+1]...)
		rest = rest[quote+1:]
	}
	return out
}

// Content appends to dst, which is empty, the decoded content in the form that does not
// depend on its way.
func (l Leaf) Content(dst []byte) []byte {
	content := canonical(decodeTransfer(dst, l.raw, l.encoding))
	if isIdentity(l.encoding) {
		content = rejoin(content)
	}
	return content
}
