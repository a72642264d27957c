package exchange

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spambloom/spambloom/bloomdb"
)

// newsVersion begins every message of the channel; FORMAT.md has the grammar.
const newsVersion = "spambloom1"

// Bounds of what is taken from outside.
const (
	maxRecord     = bloomdb.MaxDelta            // in the stream
	maxNewsRecord = 64 << 10                    // a record that the news carry themselves
	maxNewsLine   = 128                         // the line before it: 10+1+5+1+64+1+41+1 bytes at most
	maxNews       = maxNewsLine + maxNewsRecord // a message of the channel
)

// news is one message of the channel.
type news struct {
	site   string
	head   Position // the site's newest delta
	record []byte   // that delta; nil where it is to be read from the stream
}

// line is the encoding up to the record: the whole of it where record is nil.
func (n news) line() string {
	kind := "head"
	if n.record != nil {
		kind = "delta"
	}
	return newsVersion + " " + kind + " " + n.site + " " + n.head.String() + "\n"
}

// decodeNews reads a message of the channel. The record is not looked into, and
// shares memory with payload.
func decodeNews(payload []byte) (news, error) {
	if len(payload) > maxNews {
		return news{}, fmt.Errorf("news of %d bytes: the limit is %d", len(payload), maxNews)
	}
	line, record, ok := bytes.Cut(payload, []byte("\n"))
	if !ok || len(line) >= maxNewsLine {
		return news{}, fmt.Errorf("news without a first line: %.50q", payload)
	}
	word := strings.Split(string(line), " ")
	if word[0] != newsVersion {
		return news{}, fmt.Errorf("news of another version: %.20q", word[0])
	}
	if len(word) != 4 || !bloomdb.ValidSite(word[2]) {
		return news{}, fmt.Errorf("news are not VERSION KIND SITE EPOCH-SEQ: %.100q", line)
	}
	head, err := parsePosition(word[3])
	if err != nil {
		return news{}, fmt.Errorf("news of %s: %w", word[2], err)
	}
	n := news{site: word[2], head: head}
	switch {
	case word[1] == "head" && len(record) == 0:
	case word[1] == "delta" && len(record) > 0 && len(record) <= maxNewsRecord:
		n.record = record
	default:
		return news{}, fmt.Errorf("news of %s: %.20q with a record of %d bytes", n.site, word[1], len(record))
	}
	return n, nil
}
