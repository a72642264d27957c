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
	// minContent is what an archive or PDF must hold, in bytes, apart from what
	// programs put into all of theirs.
	minContent = 1 << 10
	// maxMembers bounds the members of an archive, and the streams of a PDF.
	maxMembers = 2000
	// A message may have maxInflated bytes inflated; at most freeInflated and
	// inflatedOfByte for each byte of its archives and PDFs.
	maxInflated    = 16 << 20
	freeInflated   = 2 << 20
	inflatedOfByte = 4
)

// unpacker reads the archives and PDFs of one message.
type Unpacker struct {
	Work      *work.Steps
	IsStopped func() bool // reports whether unpacking is to stop
	IsLimited bool        // a limit was reached

	size, used int // bytes packed so far, and inflated
}

// digest returns the digest of what content holds, whatever its members are called and in
// which order, when and how well they were packed. There is none if they have too little
// content, are over the limits, or unpacking was stopped.
func (u *Unpacker) Digest(content []byte) (digest.Digest, bool) {
	u.size += len(content)
	c := contents{left: min(maxInflated, freeInflated+inflatedOfByte*u.size) - u.used, work: u.Work, isStopped: u.IsStopped}
	before := c.left
	d, ok := c.digest(content)
	u.IsLimited = u.IsLimited || c.limited
	u.used += before - c.left
	return d, ok
}

// isPacked knows archives and PDFs by their first bytes.
func Is(content []byte) bool {
	return bytes.HasPrefix(content, []byte("PK\x03\x04")) || bytes.HasPrefix(content, []byte("\x1f\x8b")) ||
		bytes.HasPrefix(content, []byte("%PDF-"))
}

// contents collects the digests of members of one archive, or streams of a PDF.
type contents struct {
	left     int // bytes that may still be inflated
	held     int // bytes of members that count
	members  []digest.Digest
	packed   int           // bytes of a ZIP file that may still be inflated: each once
	inflater io.ReadCloser // used again for each member of a ZIP file
	work     *work.Steps
	over     bool // a limit was hit, data is faulty, or it was stopped: no digest
	limited  bool // a limit was hit

	isStopped func() bool
}

// read returns a reader of content that fails once unpacking is to stop.
func (u *contents) read(content []byte) packed { return packed{bytes.NewReader(content), u.isStopped} }

// digest returns the digest of what content holds, whatever its members are called
// and in which order, when and how well they were packed. There is none where they
// have too little content, or are over the limits.
func (u *contents) digest(content []byte) (digest.Digest, bool) {
	switch {
	case bytes.HasPrefix(content, []byte("%PDF-")):
		u.pdf(content)
	case bytes.HasPrefix(content, []byte("PK\x03\x04")):
		u.zip(content)
	default:
		u.gzip(content)
	}
	if u.over || u.held < minContent {
		return digest.Digest{}, false
	}
	slices.SortFunc(u.members, func(a, b digest.Digest) int { return bytes.Compare(a[:], b[:]) })
	var list []byte
	for _, d := range slices.Compact(u.members) {
		list = append(list, d[:]...)
	}
	return digest.Sum(digest.KindContent, list), true
}

// inflate reads r to its end, or gives up where the limit is hit.
func (u *contents) inflate(r io.Reader) []byte {
	data, err := io.ReadAll(io.LimitReader(r, int64(u.left)+1))
	u.work.Count(work.PerPart + len(data))
	if len(data) > u.left {
		u.limit()
	}
	u.over = u.over || err != nil
	u.left = max(0, u.left-len(data))
	return data
}

// limit gives up, as a limit is hit.
func (u *contents) limit() { u.over, u.limited = true, true }

// member takes in the data of one member.
func (u *contents) member(data []byte) {
	if len(data) == 0 || u.over {
		return
	}
	if len(u.members) == maxMembers {
		u.limit()
		return
	}
	u.held += len(data)
	u.members = append(u.members, digest.Sum(digest.KindContent, data))
}

func (u *contents) gzip(content []byte) {
	u.work.Count(work.PerPackedByte * len(content))
	r, err := gzip.NewReader(u.read(content))
	if err != nil {
		u.over = true
		return
	}
	data := u.inflate(r)
	if len(data) < 512 || string(data[257:262]) != "ustar" {
		u.member(data)
		return
	}
	files := tar.NewReader(bytes.NewReader(data))
	for range maxMembers {
		head, err := files.Next()
		if err != nil {
			u.over = u.over || err != io.EOF
			return
		}
		if head.Typeflag == tar.TypeReg && !isMetadataFile(head.Name) {
			u.member(u.inflate(files))
		}
	}
	u.limit()
}

// zip also reads the documents of Office (ECMA-376) and OpenDocument, and JAR.
func (u *contents) zip(content []byte) {
	// The reader takes memory for each entry of the directory.
	if bytes.Count(content, []byte("PK\x01\x02")) > 2*maxMembers {
		u.limit()
		return
	}
	r, err := zip.NewReader(u.read(content), int64(len(content)))
	if err != nil {
		u.over = true
		return
	}
	isDocument := slices.ContainsFunc(r.File, func(f *zip.File) bool {
		return f.Name == "[Content_Types].xml" || f.Name == "mimetype"
	})
	r.RegisterDecompressor(zip.Deflate, u.inflaterOf)
	u.packed = len(content)
	for _, f := range r.File {
		u.work.Count(work.PerPart)
		if u.over {
			return
		}
		switch {
		case f.Mode().IsDir() || isMetadataFile(f.Name) || isDocument && isFormat(f.Name):
		case f.Flags&1 != 0:
			u.encrypted(f)
		default:
			data := u.file(f)
			if isDocument && strings.HasSuffix(f.Name, ".xml") {
				data = textOfXML(data)
			}
			u.member(data)
		}
	}
}

func (u *contents) file(f *zip.File) []byte {
	// Members may share what they are inflated from, although none of a packer does.
	if f.CompressedSize64 > uint64(u.packed) {
		u.limit()
		return nil
	}
	u.packed -= int(f.CompressedSize64)
	u.work.Count(work.PerPackedByte * int(f.CompressedSize64))
	r, err := f.Open()
	if err != nil {
		u.over = true
		return nil
	}
	defer r.Close()
	return u.inflate(r)
}

// inflaterOf reads a member of a ZIP file, in place of compress/flate, which takes tables
// anew for each block. It takes the place of the one before.
func (u *contents) inflaterOf(packed io.Reader) io.ReadCloser {
	if u.inflater == nil {
		u.inflater = flate.NewReader(packed)
	} else if err := u.inflater.(flate.Resetter).Reset(packed, nil); err != nil {
		u.over = true
	}
	return u.inflater
}

// encrypted takes in a member that cannot be read by what the directory tells of
// its plain content: checksum and length. It stands apart from all that can be
// read, so that nobody can pass such a member off as another's file.
func (u *contents) encrypted(f *zip.File) {
	if f.CRC32 == 0 || f.UncompressedSize64 < minContent {
		return
	}
	told := binary.BigEndian.AppendUint32([]byte("encrypted"), f.CRC32)
	u.member(binary.BigEndian.AppendUint64(told, f.UncompressedSize64))
	u.held += minContent
}

// isMetadataFile tells of files that systems and packers add.
func isMetadataFile(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, `\`, "/"))
	base := name[strings.LastIndexByte(name, '/')+1:]
	return strings.HasPrefix(name, "__macosx/") || strings.HasPrefix(name, "meta-inf/") ||
		base == ".ds_store" || base == "thumbs.db" || base == "desktop.ini"
}

// isFormat tells of members of a document that say how it looks, by whom and when
// it was made: they are the same in many documents, or never.
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

// textOfXML returns what stands between the tags, in place, with one blank for each
// run of tags and white space.
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
