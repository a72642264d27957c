package mail

import "bytes"

// JoinFlowed joins, in place, the lines of text with format=flowed and delsp=yes (RFC 3676): a line
// that ends in a blank goes on, without it, in the next one of the same depth of quotes. A word may be
// broken anywhere so, and mail programs show it whole.
func JoinFlowed(text []byte) []byte {
	out := text[:0]
	const none = -1
	flowing := none // depth of the line that goes on
	for pos := 0; pos < len(text); {
		line, next := CutLine(text, pos)
		depth := len(line) - len(bytes.TrimLeft(line, ">"))
		words := bytes.TrimPrefix(line[depth:], []byte(" ")) // stuffed
		switch flowing {
		case depth:
			line = words
		case none:
		default:
			out = append(out, '\n')
		}
		flowing = none
		if bytes.HasSuffix(words, []byte(" ")) && string(words) != "-- " {
			line, flowing = line[:len(line)-1], depth
		}
		out = append(out, line...)
		if flowing == none && next > pos && text[next-1] == '\n' {
			out = append(out, '\n')
		}
		pos = next
	}
	return out
}
