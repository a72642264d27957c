package record

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"
)

// maxOfAct bounds the ids of one action.
const maxOfAct = 8

// Act is an action of a user that is no report: such as declaring a message never spam. It
// changes no tally.
type Act struct {
	At     time.Time // milliseconds
	What   string    // a word, such as never or retouch
	By     string    // name of the user
	Origin string
	Of     string   // the reporter or site that it concerns, with a figure or a note; may be empty
	IDs    []string // of the message's signatures, the first ones; empty: it concerns no message
}

// Encode returns the form of the action in the file. What does not fit is cut.
func (a Act) Encode() []byte {
	b := binary.AppendUvarint(nil, uint64(a.At.UnixMilli()))
	ids := a.IDs[:min(len(a.IDs), maxOfAct)]
	for _, text := range append([]string{a.What, a.By, a.Origin, a.Of}, ids...) {
		text = cutText(text)
		b = append(append(b, byte(len(text))), text...)
	}
	return b
}

// cutText cuts a text to the bound of the file, between two characters.
func cutText(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "")
}

// DecodeAct reads an action.
func DecodeAct(data []byte) (a Act, err error) {
	d := &decoder{b: data}
	a.At = time.UnixMilli(int64(d.number(math.MaxInt64 / 2))).UTC()
	a.What, a.By, a.Origin, a.Of = d.text(), d.text(), d.text(), d.text()
	for !d.bad && len(d.b) > 0 {
		a.IDs = append(a.IDs, d.text())
	}
	if d.bad || len(a.IDs) > maxOfAct || !isWord(a.What) || a.By == "" {
		return a, fmt.Errorf("action: %w: %d bytes", ErrDamaged, len(data))
	}
	return a, nil
}

// isWord reports whether a text is the name of an action: lower-case letters of ASCII.
func isWord(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz") == ""
}
