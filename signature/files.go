package signature

import (
	"bytes"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/signature/archive"
	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/work"
)

const (
	// minAttachment is the decoded size, in bytes, from which on an attachment
	// signs. Smaller ones are short notes and empty archives, which people send to
	// each other without the sender's knowledge.
	minAttachment = 1 << 10
	// minImage is the same for images. Smaller ones are logos, buttons and tracking
	// pixels, which spam copies from the mail it imitates.
	minImage = 16 << 10
	// maxAttachments bounds the attachment signatures of one message, and the archives that are unpacked.
	maxAttachments = 16
)

// files are the attachments, images and archives of a message.
type files struct {
	attached []file       // that sign, without duplicates
	embedded []image      // that sign if the text does not
	inner    []image      // embedded images in attached messages
	hasFile  bool         // the text stands beside a file
	images   []part       // that may have a sketch
	packed   []packedFile // archives and PDFs
	used     map[int]int  // bytes of the archives and images in each part, by its number
}

// file is the content of a file.
type file struct {
	digest digest.Digest
	size   int
}

func (f file) length() int { return f.size }

// part is a part that may be read later, and the length of its content, which is known only while it is read.
type part struct {
	mail.Leaf
	size int
}

func (p part) length() int { return p.size }

// packedFile is an archive or a PDF, once for all parts with its content: programs that read a part in
// several ways may find the same file in each.
type packedFile struct {
	file
	part    mail.Leaf
	carried []mail.Carriage // of its parts, as files
}

// image is an embedded image that may sign as an attachment.
type image struct {
	file
	part mail.Leaf
}

// attachments returns the digests that sign, and whether there are images.
func (c *computer) attachments(f findings) (attachments []digest.Digest, hasImages bool) {
	add := func(images []image) {
		for _, im := range images {
			hasImages = true
			if !c.isOnlyAsked(im.part) {
				c.addAttached(im.file)
			}
		}
	}
	if !f.canSignText || !f.canSignBody {
		add(c.files.embedded)
	}
	if !f.canSignText {
		add(c.files.inner)
	}
	for _, a := range c.files.attached {
		attachments = append(attachments, a.digest)
	}
	return attachments, hasImages
}

// addAttached adds a file to those that sign.
func (c *computer) addAttached(a file) {
	f := &c.files
	if slices.ContainsFunc(f.attached, func(b file) bool { return b.digest == a.digest }) {
		return
	}
	isFull := false
	if f.attached, isFull = addLargest(f.attached, maxAttachments, a); isFull {
		c.limits |= work.LimitAttachments
	}
}

// addLargest adds a file or part to a list, and reports whether it was full: then the smallest one has no place, of several the
// last. So only files that are as long as it can take the place of another one.
func addLargest[T interface{ length() int }](list []T, most int, one T) ([]T, bool) {
	if len(list) < most {
		return append(list, one), false
	}
	smallest := 0
	for i, other := range list {
		if other.length() <= list[smallest].length() {
			smallest = i
		}
	}
	if one.length() > list[smallest].length() {
		list = append(slices.Delete(list, smallest, smallest+1), one)
	}
	return list, true
}

// attach records an attachment. One that is cut has no digest, but the text stands beside
// it as in the whole message.
func (c *computer) attach(l mail.Leaf, content []byte, d digest.Digest) {
	plain, d := d, digestOf(l.CarriedAsFile(), digest.KindAttachment, d)
	f, a := &c.files, file{d, len(content)}
	isEmbedded := isEmbedded(l, content)
	if !isEmbedded && !l.IsFar {
		f.hasFile = true
	}
	switch {
	case l.IsCut:
	case isEmbedded && l.Carried == mail.AttachedPart:
		f.inner = append(f.inner, image{a, l})
	case isEmbedded:
		f.embedded = append(f.embedded, image{a, l})
	default:
		c.addAttached(a)
		if archive.Is(content) {
			f.addPacked(l, file{plain, len(content)})
		}
	}
}

// addImage notes an image that may have a sketch, and the bytes of all files that may be unpacked. A further reading
// shows the same image only if it is one.
func (f *files) addImage(l mail.Leaf, content []byte) {
	if f.used == nil {
		f.used = make(map[int]int)
	}
	isUnpacked := isPicture(content) || archive.Is(content)
	if isUnpacked && !l.IsAgain {
		f.used[l.Part] += l.Len()
	}
	if !l.IsReport && !l.IsCut && len(content) >= minPicture && isImage(l.MediaType, content) && (isUnpacked || !l.IsAgain) {
		f.images, _ = addLargest(f.images, maxImages, part{l, len(content)})
	}
}

// addPacked notes an archive.
func (f *files) addPacked(l mail.Leaf, a file) {
	i := slices.IndexFunc(f.packed, func(p packedFile) bool { return p.digest == a.digest })
	if i < 0 {
		f.packed, _ = addLargest(f.packed, maxAttachments, packedFile{a, l, []mail.Carriage{l.CarriedAsFile()}})
		return
	}
	p := &f.packed[i]
	if p.part.IsAgain {
		p.part = l
	}
	if !slices.Contains(p.carried, l.CarriedAsFile()) {
		p.carried = append(p.carried, l.CarriedAsFile())
	}
}

// contentDigests returns the digests of what the archives and PDFs contain.
func (c *computer) contentDigests() (digests []digest.Digest) {
	if len(c.files.packed) == 0 {
		return nil
	}
	c.unpack(func() { digests = c.unpackAll() })
	return digests
}

// boundReadings drops those archives and images of further readings that are, with what is unpacked of the same part
// beside them, longer than that part. So no byte of a message is unpacked twice, on average of each part, and each
// part has what it contains in its first reading, in however many ways others are read.
func (c *computer) boundReadings() {
	f := &c.files
	isOver := func(l mail.Leaf, limit work.Limits) bool {
		switch n := l.Len(); {
		case !l.IsAgain:
			return false
		case f.used[l.Part]+n > l.Size:
			c.limits |= limit
			return true
		default:
			f.used[l.Part] += n
			return false
		}
	}
	f.images = slices.DeleteFunc(f.images, func(p part) bool { return isOver(p.Leaf, work.LimitImages) })
	f.packed = slices.DeleteFunc(f.packed, func(p packedFile) bool { return isOver(p.part, work.LimitContents) })
}

// unpackAll returns the digests, or only some if it was stopped. The largest file is unpacked first, so that no small
// one uses up the budget.
func (c *computer) unpackAll() (digests []digest.Digest) {
	u := archive.Unpacker{Work: &c.work, IsStopped: c.turns.isStopped}
	slices.SortStableFunc(c.files.packed, func(a, b packedFile) int { return b.size - a.size })
	for _, p := range c.files.packed {
		if c.turns.isStopped() {
			return digests
		}
		c.work.Count(p.part.Steps())
		c.decoded = p.part.File(c.decoded[:0])
		if d, ok := u.Digest(c.decoded); ok {
			for _, carried := range p.carried {
				digests = addDigest(digests, digestOf(carried, digest.KindContent, d))
			}
		}
		if u.IsLimited {
			c.limits |= work.LimitContents
		}
	}
	return digests
}

// isEmbedded reports whether a part is an image that is shown in the text.
func isEmbedded(l mail.Leaf, content []byte) bool {
	return isImage(l.MediaType, content) && (l.Disposition == "inline" || l.HasID || l.IsRelated)
}

func addDigest(list []digest.Digest, d digest.Digest) []digest.Digest {
	if len(list) == maxAttachments || slices.Contains(list, d) {
		return list
	}
	return append(list, d)
}

// unsigned are types of parts that do not sign as attachments: those that name the sender
// and are in all his mail, those that mail systems make, and those that belong to a page.
var unsigned = map[string]bool{
	"text/vcard": true, "text/x-vcard": true, "text/directory": true, "text/rfc822-headers": true,
	"text/css": true, "text/javascript": true, "text/ecmascript": true, "text/x-amp-html": true, "text/watch-html": true,
	"application/pgp-keys": true, "application/pgp-signature": true,
	"application/pkcs7-signature": true, "application/x-pkcs7-signature": true,
}

// signsAttachment reports whether an attachment has content of its own.
func signsAttachment(mediaType string, content []byte) bool {
	if unsigned[mediaType] || strings.HasPrefix(mediaType, "message/") {
		return false
	}
	if isImage(mediaType, content) {
		return len(content) >= minImage
	}
	return len(content) >= minAttachment
}

// isImage reports whether a part is an image, also by its first bytes, as the media type often is
// application/octet-stream.
func isImage(mediaType string, content []byte) bool {
	return strings.HasPrefix(mediaType, "image/") || isPicture(content)
}

// isPicture reports whether content begins as an image of a format that may have a sketch.
func isPicture(content []byte) bool {
	for _, magic := range []string{"GIF8", "\x89PNG", "\xFF\xD8\xFF", "BM"} {
		if bytes.HasPrefix(content, []byte(magic)) {
			return true
		}
	}
	return bytes.HasPrefix(content, []byte("RIFF")) && len(content) > 12 && string(content[8:12]) == "WEBP"
}
