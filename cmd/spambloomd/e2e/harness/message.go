package harness

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Message returns a whole mail with body, and extra headers before the usual ones.
func Message(body string, extra ...string) string {
	head := append(extra, "From: someone@example.net", "To: you@example.test", "Subject: a letter",
		fmt.Sprintf("Message-ID: <%x@example.net>", rand.Uint64()), "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8")
	return strings.Join(head, "\r\n") + "\r\n\r\n" + body
}

// Text returns a unique paragraph, long enough to be signed.
func Text() string {
	var b strings.Builder
	for i := range 90 {
		b.WriteString(Words[rand.IntN(len(Words))])
		if i%9 == 8 {
			b.WriteString(".\r\n")
		} else {
			b.WriteString(" ")
		}
	}
	return b.String()
}

// Paragraph is Text with a given random source.
func Paragraph(r *rand.Rand) string {
	var b strings.Builder
	for range 90 {
		b.WriteString(Words[r.IntN(len(Words))] + " ")
	}
	return b.String()
}

// Words differ from message to message, because digits are ignored.
var Words = strings.Fields(`apple basket candle dragon engine forest garden harbour
	island jacket kettle ladder mirror needle orange pepper quarry ribbon saddle
	tunnel umbrella valley window yellow zebra anchor bridge copper desert ember
	falcon glacier hammer indigo jungle kernel lantern meadow nectar orchid pebble
	quartz river silver thunder velvet walnut yonder zenith almond barrel`)
