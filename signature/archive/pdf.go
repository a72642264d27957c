package archive

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/zlib"

	"github.com/spambloom/spambloom/signature/work"
)

// maxDictionary is how far before a stream, in bytes, its dictionary may begin.
const maxDictionary = 1 << 10

// pdf adds the streams of a PDF (ISO 32000-1 section 7.3.8) that its pages show: their
// contents and images. Identifiers, dates and the names of programs stand outside of
// streams or in those of metadata, and do not matter. The order of objects does not
// matter either. An encrypted PDF has no digest, as each copy of it differs.
func (c *contents) pdf(content []byte) {
	if bytes.Contains(content, []byte("/Encrypt")) {
		c.hasFailed = true
		return
	}
	c.work.Count(len(content))
	var inflater io.Reader // used for all streams
	for streams := 0; !c.hasFailed && !c.isStopped(); streams++ {
		before, after, ok := bytes.Cut(content, []byte("stream"))
		if !ok {
			return
		}
		data, rest, ok := bytes.Cut(after, []byte("endstream"))
		if !ok {
			return
		}
		content = rest
		if streams == maxMembers {
			c.limit()
		}
		dictionary := dictionaryBefore(before)
		if !isShown(dictionary) {
			continue
		}
		data = bytes.TrimPrefix(bytes.TrimPrefix(data, []byte("\r")), []byte("\n"))
		if bytes.Contains(dictionary, []byte("FlateDecode")) {
			data, inflater = c.flate(data, inflater)
		}
		c.member(bytes.TrimRight(data, "\r\n"))
	}
}

// flate inflates a stream; nothing if it is faulty.
func (c *contents) flate(data []byte, inflater io.Reader) ([]byte, io.Reader) {
	c.work.Count(work.PerPackedByte * len(data))
	r := c.read(data)
	var err error
	if inflater == nil {
		inflater, err = zlib.NewReader(r)
	} else {
		err = inflater.(zlib.Resetter).Reset(r, nil)
	}
	if err != nil {
		return nil, inflater
	}
	return c.inflate(inflater), inflater
}

// dictionaryBefore returns the dictionary of the stream that content ends with, from the
// beginning of its object.
func dictionaryBefore(content []byte) []byte {
	content = content[max(0, len(content)-maxDictionary):]
	at := bytes.LastIndex(content, []byte(" obj"))
	if at < 0 || !bytes.HasSuffix(bytes.TrimRight(content, " \t\r\n"), []byte(">>")) {
		return nil
	}
	return content[at+len(" obj"):]
}

// isShown reports whether a stream is the content of a page or an image, and no font,
// colour profile, metadata, character map or table of objects.
func isShown(dictionary []byte) bool {
	if dictionary == nil {
		return false
	}
	for _, name := range []string{"/XRef", "/ObjStm", "/Metadata", "/Length1", "/Type1C", "/CIDFontType0C", "/OpenType",
		"/Alternate", "/CMapName", "/EmbeddedFile"} {
		if bytes.Contains(dictionary, []byte(name)) {
			return false
		}
	}
	return true
}
