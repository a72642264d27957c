package signature

import (
	"errors"
	"slices"

	"github.com/spambloom/spambloom/signature/links"
	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/picture"
	"github.com/spambloom/spambloom/signature/sketch"
	"github.com/spambloom/spambloom/signature/words"
	"github.com/spambloom/spambloom/signature/work"
)

const (
	// minPicture is the size, in bytes, from which on an image is decoded.
	minPicture = 2 << 10
	// maxImages bounds the images of a message that may be decoded, as a page may name any; maxLooked bounds
	// those that are, and maxPictures those of them that have a sketch.
	maxImages, maxLooked, maxPictures = 256, 4, 2
	// A message may cost maxPixels, in pixels decoded, but at most freePixels, and
	// pixelsOfByte for each byte of its images.
	maxPixels    = 4 << 20
	freePixels   = 1 << 20
	pixelsOfByte = 4
	// largeArea and largeSide are the size, in pixels, that an image needs beside a short
	// text that signs. Smaller ones are the logos of letterheads and signatures.
	largeArea, largeSide = 160_000, 250
)

// pictures are those that the pages of a message show.
type pictures struct {
	links.Pictures
	hasPage   bool
	showsMore bool // the page shows something besides pictures that it does not name
}

// readPictures finds out which images the pages of the message name. It orders those that may have a sketch: the ones
// that none names are last, and of each kind the largest is first, so that no small one uses up the budget.
func (c *computer) readPictures() {
	images, p := c.files.images, &c.pictures
	if slices.ContainsFunc(images, func(l part) bool { return l.IsRelated }) {
		for i := range c.texts.Parts {
			if text := &c.texts.Parts[i]; !text.IsAside && !c.texts.IsReplaced(text) {
				v := c.texts.Show(text)
				p.hasPage = p.hasPage || v.IsPage
				p.Add(v.References, &c.work)
			}
		}
		p.showsMore = p.HasRemote || len(c.reader.shown.Text) > maxGreeting
	}
	var shown, unnamed []part
	for _, l := range images {
		if c.turns.isStopped() {
			return
		}
		isNamed := c.isNamed(l.Leaf)
		p.showsMore = p.showsMore || isNamed
		if l.IsRelated && p.hasPage && !isNamed {
			unnamed = append(unnamed, l)
		} else {
			shown = append(shown, l)
		}
	}
	bySize := func(a, b part) int { return b.size - a.size }
	slices.SortStableFunc(shown, bySize)
	slices.SortStableFunc(unnamed, bySize)
	c.files.images = append(shown, unnamed...)
}

// isNamed reports whether a page shows an image. The names of an image may have megabytes.
func (c *computer) isNamed(l mail.Leaf) bool {
	if !c.pictures.hasPage {
		return false
	}
	c.work.Count(len(l.ID) + len(l.Location))
	return c.pictures.Has(l.ID, l.Location)
}

// isOnlyAsked reports whether no report lists an image: it belongs to a page that does not name it, so most programs do
// not show it, and it may be another sender's. Beside a page that shows nothing else, it is what they were sent.
func (c *computer) isOnlyAsked(l mail.Leaf) bool {
	return c.pictures.showsMore && l.IsRelated && c.pictures.hasPage && !c.isNamed(l)
}

// imageSketches returns the sketches of the images that identify the message: attached
// ones, images without a text that signs, and large ones beside a short text. Beside more
// text, images are those that their sender has in all mail. For an image of the message
// itself, the text of attached messages does not count.
func (c *computer) imageSketches(needed words.Amount) (sketches []sketch.Sketch) {
	if len(c.files.images) == 0 {
		return nil
	}
	body := besideText(c.reader.shown.Text[:c.reader.bodyText], needed)
	whole := body
	if c.reader.bodyText < len(c.reader.shown.Text) {
		whole = besideText(c.reader.shown.Text, needed)
	}
	if len(c.files.images) > maxLooked {
		c.files.images = c.files.images[:maxLooked]
		c.limits |= work.LimitImages
	}
	c.unpack(func() { sketches = c.sketchImages(body, whole) })
	return sketches
}

// sketchImages returns the sketches, or only some if it was stopped.
func (c *computer) sketchImages(body, whole beside) (sketches []sketch.Sketch) {
	pictures := 0
	left, size := maxPixels, 0
	for _, one := range c.files.images {
		l := one.Leaf
		if c.turns.isStopped() {
			return sketches
		}
		c.work.Count(l.Steps())
		content := l.File(c.decoded[:0])
		c.decoded = content
		embedded, text := isEmbedded(l, content), body
		if l.Carried == mail.AttachedPart {
			text = whole
		}
		if embedded && text.isAmple {
			continue
		}
		if size += len(content); pictures == maxPictures {
			c.limits |= work.LimitImages
			break
		}
		if !isPicture(content) {
			continue
		}
		im, cost, err := picture.Read(content, min(left, freePixels+pixelsOfByte*size-(maxPixels-left)))
		left -= cost
		c.work.Count(work.PerPixel*cost + work.PerPackedByte*len(content))
		if err == nil {
			c.work.Count(work.PerImage)
		}
		if errors.Is(err, picture.ErrCost) {
			c.limits |= work.LimitImages
		}
		isLarge := im.Width*im.Height >= largeArea && min(im.Width, im.Height) >= largeSide
		if err != nil || embedded && text.canSign && !isLarge {
			continue
		}
		pictures++
		s := sketch.OfImage(im.Codes)
		s.AskOnly = c.isOnlyAsked(l)
		sketches = append(sketches, sketchesOf(l.Carried, s)...)
	}
	return sketches
}

// beside is the text beside an image: whether it signs, and whether it is ample.
type beside struct{ canSign, isAmple bool }

func besideText(text []byte, needed words.Amount) beside {
	signs := words.IsEnough(text, needed)
	return beside{signs, signs && words.IsEnough(text, words.Ample)}
}
