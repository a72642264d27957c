package header

import (
	"bytes"

	"github.com/spambloom/spambloom/signature"
)

const (
	// Ordinary is the length of a head whose copies are part of milter.ConnectionMemory. Unit: bytes.
	Ordinary = 1 << 20
	// Piece is the length of a piece of a head without room, which with all overhead takes less than an eighth
	// of the least that a message may take. Unit: bytes.
	Piece = 128
)

// Memory is the memory for the text of a head, and for three copies of it beyond an ordinary one: parsing
// and answering make them. Unit: bytes.
func Memory(length int) int64 { return int64(length) + 3*int64(max(0, length-Ordinary)) }

// Head is the text of a header that arrives in pieces.
type Head []byte

// Add appends a piece. It reports whether the header has ended with an empty line; what follows is in h, too.
func (h *Head) Add(p []byte) (hasEnded bool) {
	from := max(0, len(*h)-3) // an empty line may be in two pieces
	*h = append(*h, p...)
	begun := (*h)[from:]
	return bytes.Contains(begun, []byte("\n\n")) || bytes.Contains(begun, []byte("\n\r\n")) ||
		bytes.HasPrefix(*h, []byte("\n")) || bytes.HasPrefix(*h, []byte("\r\n"))
}

// Take takes the complete fields out of a header that goes on. Of the field that is left it keeps at most
// that many bytes, behind a line of its own. It takes nothing and is not ok if the body has begun without
// an empty line.
func (h *Head) Take(most int, add func(signature.Field)) (ok bool) {
	const field = "x:\n" // decides about a line before it that is no field; behind it a line is not an mbox's
	text, last := *h, lastLine(*h)
	if last > 0 {
		if body, _ := signature.Behind(append(text[:last:last], field...), nil, true); len(body) > 0 {
			return false
		}
		isOurs := bytes.HasPrefix(text, []byte(field)) // of an earlier call
		body := signature.EachField(text[:last], func(f signature.Field) {
			if !isOurs {
				add(f)
			}
			isOurs = false
		})
		if n := len(body); len(text)-last+n <= most {
			last -= n // a line that is no field, with which the body begins if no field follows
		}
	}
	rest := bytes.Clone(text[last:])
	if len(rest) > most {
		const end = 3                                    // bytes that Add looks at again
		rest = append(rest[:most-end-1:most-end-1], ' ') // which makes no empty line
		rest = append(rest, text[len(text)-end:]...)
	}
	if last > 0 {
		rest = append([]byte(field), rest...)
	}
	*h = rest
	return true
}

// lastLine returns where the last line begins that does not go on with the one before it.
func lastLine(text []byte) int {
	for i := len(text) - 1; i > 0; i-- {
		if text[i-1] == '\n' && text[i] != ' ' && text[i] != '\t' {
			return i
		}
	}
	return 0
}
