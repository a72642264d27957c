package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"

	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/work"
)

const (
	// minContent is the content, in bytes, that an archive or PDF must have, apart from
	// what programs put into all of theirs.
	minContent = 1 << 10
	// maxMembers bounds the members of an archive, and the streams of a PDF.
	maxMembers = 2000
	// A message may have maxInflated bytes inflated, but at most freeInflated, and
	// inflatedOfByte for each byte of its archives and PDFs.
	maxInflated    = 16 << 20
	freeInflated   = 2 << 20
	inflatedOfByte = 4
)

// Unpacker reads the archives and PDFs of one message. It is used by one goroutine.
type Unpacker struct {
	Work      *work.Steps
	IsStopped func() bool // reports whether unpacking is to stop
	IsLimited bool        // a limit was reached

	size, used int // bytes read so far, and bytes that they inflated to
}

// Digest returns the digest of what an archive or PDF contains, whatever its members are
// called, and in whatever order, when and how well they were packed. There is none if it
// has too little content, a limit was reached, its data is faulty or unpacking was
// stopped.
func (u *Unpacker) Digest(content []byte) (digest.Digest, bool) {
	u.size += len(content)
	c := contents{left: min(maxInflated, freeInflated+inflatedOfByte*u.size) - u.used, work: u.Work, isStopped: u.IsStopped}
	before := c.left
	d, ok := c.digest(content)
	u.IsLimited = u.IsLimited || c.isLimited
	u.used += before - c.left
	return d, ok
}

// Is reports whether content is an archive or a PDF, by its first bytes.
func Is(content []byte) bool {
	return bytes.HasPrefix(content, []byte("PK\x03\x04")) || bytes.HasPrefix(content, []byte("\x1f\x8b")) ||
		bytes.HasPrefix(content, []byte("%PDF-"))
}

// contents collects the digests of the members of one archive, or the streams of a PDF.
type contents struct {
	left      int // bytes that may still be inflated
	size      int // bytes of the members that count
	members   []digest.Digest
	packed    int           // bytes of a ZIP file that may still be inflated: each one once
	inflater  io.ReadCloser // used for all members of a ZIP file
	work      *work.Steps
	hasFailed bool // there is no digest: a limit was reached, data is faulty, or unpacking was stopped
	isLimited bool // a limit was reached

	isStopped func() bool
}

// read returns a reader of content that fails once unpacking is to stop.
func (c *contents) read(content []byte) packed { return packed{bytes.NewReader(content), c.isStopped} }

// digest returns the digest of the sorted members.
func (c *contents) digest(content []byte) (digest.Digest, bool) {
	switch {
	case bytes.HasPrefix(content, []byte("%PDF-")):
		c.pdf(content)
	case bytes.HasPrefix(content, []byte("PK\x03\x04")):
		c.zip(content)
	default:
		c.gzip(content)
	}
	if c.hasFailed || c.size < minContent {
		return digest.Digest{}, false
	}
	slices.SortFunc(c.members, func(a, b digest.Digest) int { return bytes.Compare(a[:], b[:]) })
	var list []byte
	for _, d := range slices.Compact(c.members) {
		list = append(list, d[:]...)
	}
	return digest.Sum(digest.KindContent, list), true
}

// inflate reads r to its end, or gives up at the limit.
func (c *contents) inflate(r io.Reader) []byte {
	data, err := io.ReadAll(io.LimitReader(r, int64(c.left)+1))
	c.work.Count(work.PerPart + len(data))
	if len(data) > c.left {
		c.limit()
	}
	c.hasFailed = c.hasFailed || err != nil
	c.left = max(0, c.left-len(data))
	return data
}

// limit gives up, as a limit was reached.
func (c *contents) limit() { c.hasFailed, c.isLimited = true, true }

// member adds the data of one member.
func (c *contents) member(data []byte) {
	if len(data) == 0 || c.hasFailed {
		return
	}
	if len(c.members) == maxMembers {
		c.limit()
		return
	}
	c.size += len(data)
	c.members = append(c.members, digest.Sum(digest.KindContent, data))
}

func (c *contents) gzip(content []byte) {
	c.work.Count(work.PerPackedByte * len(content))
	r, err := gzip.NewReader(c.read(content))
	if err != nil {
		c.hasFailed = true
		return
	}
	data := c.inflate(r)
	if len(data) < 512 || string(data[257:262]) != "ustar" {
		c.member(data)
		return
	}
	files := tar.NewReader(bytes.NewReader(data))
	for range maxMembers {
		head, err := files.Next()
		if err != nil {
			c.hasFailed = c.hasFailed || err != io.EOF
			return
		}
		if head.Typeflag == tar.TypeReg && !isMetadataFile(head.Name) {
			c.member(c.inflate(files))
		}
	}
	c.limit()
}

// zip reads a ZIP file. Documents of Office (ECMA-376) and OpenDocument are ZIP files, as
// is JAR.
func (c *contents) zip(content []byte) {
	// The reader allocates memory for each entry of the directory.
	if bytes.Count(content, []byte("PK\x01\x02")) > 2*maxMembers {
		c.limit()
		return
	}
	r, err := zip.NewReader(c.read(content), int64(len(content)))
	if err != nil {
		c.hasFailed = true
		return
	}
	isDocument := slices.ContainsFunc(r.File, func(f *zip.File) bool {
		return f.Name == "[Content_Types].xml" || f.Name == "mimetype"
	})
	r.RegisterDecompressor(zip.Deflate, c.inflaterOf)
	c.packed = len(content)
	for _, f := range r.File {
		c.work.Count(work.PerPart)
		if c.hasFailed {
			return
		}
		switch {
		case f.Mode().IsDir() || isMetadataFile(f.Name) || isDocument && isFormat(f.Name):
		case f.Flags&1 != 0:
			c.encrypted(f)
		default:
			data := c.file(f)
			if isDocument && strings.HasSuffix(f.Name, ".xml") {
				data = textOfXML(data)
			}
			c.member(data)
		}
	}
}

func (c *contents) file(f *zip.File) []byte {
	// Members may share compressed data, although no packer makes such files.
	if f.CompressedSize64 > uint64(c.packed) {
		c.limit()
		return nil
	}
	c.packed -= int(f.CompressedSize64)
	c.work.Count(work.PerPackedByte * int(f.CompressedSize64))
	r, err := f.Open()
	if err != nil {
		c.hasFailed = true
		return nil
	}
	defer r.Close()
	return c.inflate(r)
}

// inflaterOf returns a reader for a member of a ZIP file. It replaces compress/flate,
// which allocates tables for each block. The reader of the member before is used again.
func (c *contents) inflaterOf(packed io.Reader) io.ReadCloser {
	if c.inflater == nil {
		c.inflater = flate.NewReader(packed)
	} else if err := c.inflater.(flate.Resetter).Reset(packed, nil); err != nil {
		c.hasFailed = true
	}
	return c.inflater
}

// encrypted adds a member that cannot be read, by the checksum and length of its plain
// content in the directory. Its digest differs from those of readable members, so it
// cannot pass for another sender's file.
func (c *contents) encrypted(f *zip.File) {
	if f.CRC32 == 0 || f.UncompressedSize64 < minContent {
		return
	}
	told := binary.BigEndian.AppendUint32([]byte("encrypted"), f.CRC32)
	c.member(binary.BigEndian.AppendUint64(told, f.UncompressedSize64))
	c.size += minContent
}

// isMetadataFile reports whether a file was added by the operating system or the
// archiver.
func isMetadataFile(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, `\`, "/"))
	base := name[strings.LastIndexByte(name, '/')+1:]
	return strings.HasPrefix(name, "__macosx/") || strings.HasPrefix(name, "meta-inf/") ||
		base == ".ds_store" || base == "thumbs.db" || base == "desktop.ini"
}

// isFormat reports whether a member of a document contains its format, author or dates:
// such members are the same in many documents, or in none.
func isFormat(name string) bool {
	for _, part := range []string{"_rels/", "docProps/", "customXml/", "theme/", "slideLayouts/", "slideMasters/",
		"printerSettings/", "Thumbnails/", "Configurations2/"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	switch name[strings.LastIndexByte(name, '/')+1:] {
	case "[Content_Types].xml", "mimetype", "styles.xml", "settings.xml", "webSettings.xml", "fontTable.xml", "numbering.xml",
		"workbook.xml", "calcChain.xml", "presentation.xml", "presProps.xml", "viewProps.xml", "tableStyles.xml",
		"meta.xml", "manifest.rdf", "stylesWithEffects.xml", "footnotes.xml", "endnotes.xml", "commentsExtended.xml":
		return true
	}
	return false
}

// textOfXML returns the text between the tags, in place, with one blank for each run of
// tags and white space.
func textOfXML(data []byte) []byte {
	out := data[:0]
	inTag := false
	for _, b := range data {
		switch {
		case b == '<':
			inTag = true
		case b == '>' && inTag:
			inTag, b = false, ' '
		}
		isBlank := b == ' ' || b == '\t' || b == '\r' || b == '\n'
		if !inTag && (!isBlank || len(out) > 0 && out[len(out)-1] != ' ') {
			if isBlank {
				b = ' '
			}
			out = append(out, b)
		}
	}
	return bytes.TrimSuffix(out, []byte(" "))
}
