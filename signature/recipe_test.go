package signature_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature/archive/archivetest"
)

// recipe describes a message in a few lines. Each line has how often a piece is repeated,
// and then the piece as a quoted string of Go, in which "{i}" becomes the number of the
// repetition. A line of a word and numbers is an archive or image of fileMakers, in
// base64.
type recipe []ingredient

type ingredient struct {
	count   int
	piece   string
	file    string // name in fileMakers, instead of a piece
	numbers []int
}

func readRecipe(text string) (r recipe, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		first, rest, _ := strings.Cut(line, " ")
		if count, err := strconv.Atoi(first); err == nil {
			piece, err := strconv.Unquote(rest)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
			r = append(r, ingredient{count: count, piece: piece})
			continue
		}
		one := ingredient{count: 1, file: first}
		if fileMakers[first] == nil {
			return nil, fmt.Errorf("%s: no such file", line)
		}
		for field := range strings.FieldsSeq(rest) {
			n, err := strconv.Atoi(field)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
			one.numbers = append(one.numbers, n)
		}
		r = append(r, one)
	}
	return r, nil
}

func (r recipe) String() string {
	var b strings.Builder
	for _, one := range r {
		if one.file != "" {
			fmt.Fprintln(&b, one.file, strings.Trim(fmt.Sprint(one.numbers), "[]"))
			continue
		}
		fmt.Fprintf(&b, "%d %+q\n", one.count, one.piece)
	}
	return b.String()
}

// message returns the message that r describes, with percent of all repetitions that are
// 1,000 or more.
func (r recipe) message(percent int) []byte {
	var b bytes.Buffer
	for _, one := range r {
		if one.file != "" {
			b.WriteString(encoded(string(fileMakers[one.file](one.numbers))) + "\n")
			continue
		}
		count := one.count
		if count >= 1000 {
			count = count * percent / 100
		}
		if !strings.Contains(one.piece, "{i}") {
			b.WriteString(strings.Repeat(one.piece, count))
			continue
		}
		for i := range count {
			b.WriteString(strings.ReplaceAll(one.piece, "{i}", strconv.Itoa(i)))
		}
	}
	return b.Bytes()
}

// hostileRecipes returns the recipes in testdata/hostile, by name.
func hostileRecipes(tb testing.TB) map[string]recipe {
	tb.Helper()
	names, err := filepath.Glob("testdata/hostile/*.txt")
	if err != nil || len(names) == 0 {
		tb.Fatalf("no recipes: %v", err)
	}
	recipes := make(map[string]recipe)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		r, err := readRecipe(string(text))
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		recipes[strings.TrimSuffix(filepath.Base(name), ".txt")] = r
	}
	return recipes
}

// fileMakers make files that a recipe of text cannot describe. Numbers out of range, or
// missing ones, are brought into it.
var fileMakers = map[string]func(numbers []int) []byte{
	"zip": hostileZip, "gzip": hostileGzip, "tar": hostileTar, "pdf": hostilePDF, "png": hostilePNG, "gif": hostileGIF, "jpeg": hostileJPEG, "bmp": hostileBMP, "webp": hostileWebP,
}

// number returns numbers[i], brought into the range from least to most.
func number(numbers []int, i, least, most int) int {
	n := least
	if i < len(numbers) {
		n = numbers[i]
	}
	return least + max(0, n-least)%(most-least+1)
}

// hostileZip has members that share their data: kind of its blocks, number of blocks,
// number of members.
func hostileZip(numbers []int) []byte {
	data := archivetest.Blocks(number(numbers, 0, 0, archivetest.LastBlocks), number(numbers, 1, 1, 200_000))
	members := number(numbers, 2, 1, 2*maxMembers)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, _ := w.CreateRaw(&zip.FileHeader{Name: "a", Method: zip.Deflate, CompressedSize64: uint64(len(data)), UncompressedSize64: 0})
	f.Write(data)
	w.Close()
	one := b.Bytes()
	at := bytes.LastIndex(one, []byte("PK\x01\x02"))
	end := bytes.LastIndex(one, []byte("PK\x05\x06"))
	entry := one[at:end]
	out := append(bytes.Clone(one[:at]), bytes.Repeat(entry, members)...)
	tail := bytes.Clone(one[end:])
	binary.LittleEndian.PutUint16(tail[8:], uint16(members))
	binary.LittleEndian.PutUint16(tail[10:], uint16(members))
	binary.LittleEndian.PutUint32(tail[12:], uint32(members*len(entry)))
	return append(out, tail...)
}

// hostileGzip has many members: kind of the blocks, number in each, number of members.
func hostileGzip(numbers []int) []byte {
	data := archivetest.Blocks(number(numbers, 0, 0, archivetest.LastBlocks), number(numbers, 1, 1, 200_000))
	if number(numbers, 0, 0, archivetest.LastBlocks) == archivetest.TextBlocks {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(make([]byte, number(numbers, 1, 1, 200_000)))
		w.Close()
		return bytes.Repeat(b.Bytes(), number(numbers, 2, 1, 20_000))
	}
	one := append([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"), data...)
	one = append(one, make([]byte, 8)...)
	return bytes.Repeat(one, min(number(numbers, 2, 1, 20_000), 1+4<<20/len(one)))
}

// hostileTar has records of attributes (PAX) of empty files: number of files, records of
// each, length of their values.
func hostileTar(numbers []int) []byte {
	records, value := make(map[string]string), strings.Repeat("b", number(numbers, 2, 1, 1000))
	for i := range number(numbers, 1, 1, 80_000) {
		records["a."+strconv.Itoa(i)] = value
	}
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	w := tar.NewWriter(packed)
	for range number(numbers, 0, 1, 2*maxMembers) {
		if err := w.WriteHeader(&tar.Header{Name: "a", Format: tar.FormatPAX, PAXRecords: records}); err != nil {
			break // more records than a reader accepts
		}
	}
	w.Close()
	packed.Close()
	return b.Bytes()
}

// hostilePDF has streams: kind of the blocks, number in each, number of streams.
func hostilePDF(numbers []int) []byte {
	data := append([]byte("x\x9c"), archivetest.Blocks(number(numbers, 0, 0, archivetest.LastBlocks), number(numbers, 1, 1, 200_000))...)
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Close()
	one := fmt.Sprintf("1 0 obj<</Filter/FlateDecode>>stream\n%s\x00\x00\x00\x01endstream endobj\n", data)
	return append([]byte("%PDF-1.4\n"), bytes.Repeat([]byte(one), min(number(numbers, 2, 1, maxMembers), 1+4<<20/len(one)))...)
}
