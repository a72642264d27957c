package archivetest

import (
	"bytes"
	"compress/flate"
	"math/bits"
)

// Kinds of blocks of DEFLATE (RFC 1951).
const (
	storedBlocks = iota // empty
	fixedBlocks         // empty
	ownBlocks           // empty, with codes of their own, as few as possible
	TextBlocks          // with text, as a packer makes them
	linkedBlocks        // empty, with codes that need the largest tables
	linkedTwice         // empty, with such codes for distances, too
	LastBlocks   = linkedTwice
)

// Blocks returns a stream of n times eight blocks of a kind, or of n times two letters;
// up to 4 MiB.
func Blocks(kind, n int) []byte {
	if kind == TextBlocks {
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, 9)
		w.Write(bytes.Repeat([]byte("ab"), n))
		w.Close()
		return b.Bytes()
	}
	eight := EightBlocks(kind)
	return append(bytes.Repeat(eight, min(n, 4<<20/len(eight))), "\x03\x00"...)
}

// EightBlocks returns eight blocks of a kind, which end at a byte.
func EightBlocks(kind int) []byte {
	var w bitWriter
	for range 8 {
		switch kind {
		case storedBlocks:
			w.put(0xffff<<24, 40)
		case fixedBlocks:
			w.put(0b010, 10)
		case ownBlocks:
			w.block(append(make([]int, 256), 1), []int{1})
		case linkedBlocks:
			w.block(linkedCodes(263, 255), []int{0})
		case linkedTwice:
			w.block(linkedCodes(263, 255), linkedCodes(30, 15))
		}
	}
	return w.out
}

// linkedCodes returns the lengths of n codes, some of which have ten bits, and the
// longest 15. A decoder that reads nine bits at a time needs another table of six for
// each two of them. The last code but 28, which ends a block, is short.
func linkedCodes(n, ofTen int) []int {
	var lengths []int
	rest := 1<<10 - 1 - ofTen // the share of shorter codes, in codes of ten bits
	for length := 1; length <= 10; length++ {
		if rest&(1<<(10-length)) != 0 {
			lengths = append(lengths, length)
		}
	}
	lengths = append(lengths, 11, 12, 13, 14, 15, 15)
	lengths = append(lengths, make([]int, n-ofTen-len(lengths))...)
	for range ofTen {
		lengths = append(lengths, 10)
	}
	if n > 256 {
		lengths[0], lengths[256] = lengths[256], lengths[0]
	}
	return lengths
}

// bitWriter writes DEFLATE, from the lowest bit of each byte on.
type bitWriter struct {
	out  []byte
	bits int
}

func (w *bitWriter) put(value, n int) {
	for i := range n {
		if w.bits%8 == 0 {
			w.out = append(w.out, 0)
		}
		w.out[w.bits/8] |= byte(value>>i&1) << (w.bits % 8)
		w.bits++
	}
}

// code writes the code of a symbol; lengths has those of all symbols.
func (w *bitWriter) code(lengths []int, symbol int) {
	code := 0
	for i, length := range lengths {
		if length > 0 && (length < lengths[symbol] || length == lengths[symbol] && i < symbol) {
			code += 1 << (lengths[symbol] - length)
		}
	}
	w.put(int(bits.Reverse16(uint16(code))>>(16-lengths[symbol])), lengths[symbol])
}

// block writes a block with codes of its own, for literals and distances, that contains
// only its end.
func (w *bitWriter) block(literals, distances []int) {
	symbols, extra := runs(append(append([]int(nil), literals...), distances...))
	lengths := shortCodes(symbols)
	w.put(0b100, 3)
	w.put(len(literals)-257, 5)
	w.put(len(distances)-1, 5)
	w.put(15, 4)
	for _, symbol := range []int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15} {
		w.put(lengths[symbol], 3)
	}
	for i, symbol := range symbols {
		w.code(lengths, symbol)
		w.put(extra[i], []int{2, 3, 7}[max(0, symbol-16)]*min(1, symbol/16))
	}
	w.code(literals, 256)
}

// runs encodes lengths of codes as symbols: 16 repeats the last one 3 to 6 times, 17 and
// 18 are 3 to 10 and 11 to 138 zeros. Extra is the number above the least.
func runs(lengths []int) (symbols, extra []int) {
	for i := 0; i < len(lengths); {
		n := 1
		for i+n < len(lengths) && lengths[i+n] == lengths[i] {
			n++
		}
		symbol, more := lengths[i], 0
		switch {
		case lengths[i] == 0 && n >= 11:
			symbol, n = 18, min(n, 138)
			more = n - 11
		case lengths[i] == 0 && n >= 3:
			symbol, n = 17, min(n, 10)
			more = n - 3
		case i > 0 && lengths[i-1] == lengths[i] && n >= 3:
			symbol, n = 16, min(n, 6)
			more = n - 3
		default:
			n = 1
		}
		symbols, extra = append(symbols, symbol), append(extra, more)
		i += n
	}
	return symbols, extra
}

// shortCodes returns lengths of codes: one bit for the most frequent of 0 to 18, about
// equal ones for the rest.
func shortCodes(symbols []int) []int {
	counts, lengths := make([]int, 19), make([]int, 19)
	most, others := 0, -1
	for _, symbol := range symbols {
		if counts[symbol]++; counts[symbol] == 1 {
			others++
		}
		if counts[symbol] > counts[most] {
			most = symbol
		}
	}
	length := bits.Len(uint(others - 1))
	shorter := 1<<length - others
	for symbol, n := range counts {
		switch {
		case symbol == most:
			lengths[symbol] = 1
		case n > 0 && shorter > 0:
			lengths[symbol] = length
			shorter--
		case n > 0:
			lengths[symbol] = 1 + length
		}
	}
	return lengths
}
