package signature

import (
	"errors"

	"github.com/spambloom/spambloom/signature/picture"
)

const (
	// minPicture is the size, in bytes, from which on an image is looked at.
	minPicture = 2 << 10
	// maxLooked bounds the images of a message that are looked at, and
	// maxPictures those of them that have a sketch.
	maxLooked, maxPictures = 4, 2
	// A message may cost maxPixels, in pixels decoded; at most freePixels and
	// pixelsOfByte for each byte of its images.
	maxPixels    = 4 << 20
	freePixels   = 1 << 20
	pixelsOfByte = 4
	// largeArea and largeSide are what an image needs, in pixels, beside a short
	// text that signs: below it are the logos of letterheads and signatures.
	largeArea, largeSide = 160_000, 250

	// needOfImage is t in "at least t of 20 keys", weakOfImage that where
	// something else corroborates it. Variations of an image keep 15 to 20, and
	// about 11 to 13 where one line of ten is another; different images of one
	// template have up to 10 in common (none of 22,350 pairs had more), others 8.
	needOfImage, weakOfImage = 11, 8
)

// look notes an image for imageSketches, which knows whether the text signs.
func (c *computer) look(l leaf) {
	if len(c.images) == maxLooked {
		c.limits |= LimitImages
		return
	}
	c.images = append(c.images, l)
}

// imageSketches returns the sketches of the images that tell what the message is:
// attached ones, and those beside no text that signs, or, if large, beside a short
// one. Beside more text, images in it are what its sender has in all his mail.
// Beside an image of the message itself, the text of attached messages does not count.
func (c *computer) imageSketches(needed amount) (sketches []Sketch) {
	if len(c.images) == 0 {
		return nil
	}
	body := besideText(c.words.text[:c.bodyText], needed)
	whole := body
	if c.bodyText < len(c.words.text) {
		whole = besideText(c.words.text, needed)
	}
	c.unpack(func() { sketches = c.sketchImages(body, whole) })
	return sketches
}

// sketchImages is imageSketches, of which only part is returned if it was stopped.
func (c *computer) sketchImages(body, whole beside) (sketches []Sketch) {
	pictures := 0
	left, size := maxPixels, 0
	for _, l := range c.images {
		if c.isStopped() {
			return sketches
		}
		c.work.count(stepsOfDecoding(l))
		content := decodeFile(c.decoded[:0], l)
		c.decoded = content
		embedded, text := isEmbedded(l, content), body
		if l.carried == attachedPart {
			text = whole
		}
		if embedded && text.isAmple {
			continue
		}
		if pictures == maxPictures {
			c.limits |= LimitImages
			break
		}
		size += len(content)
		im, cost, err := picture.Read(content, min(left, freePixels+pixelsOfByte*size-(maxPixels-left)))
		left -= cost
		c.work.count(stepsOfPixel * cost)
		if cost > 0 { // decoding was tried
			c.work.count(stepsOfPackedByte * len(content))
		}
		if err == nil {
			c.work.count(stepsOfImage)
		}
		if errors.Is(err, picture.ErrCost) {
			c.limits |= LimitImages
		}
		isLarge := im.Width*im.Height >= largeArea && min(im.Width, im.Height) >= largeSide
		if err != nil || embedded && text.signs && !isLarge {
			continue
		}
		pictures++
		sketches = append(sketches, l.carried.imageSketches(imageSketch(im.Codes))...)
	}
	return sketches
}

// beside is what stands beside an image: a text that signs, or even an ample one.
type beside struct{ signs, isAmple bool }

func besideText(text []byte, needed amount) beside {
	signs := isEnough(text, needed, boilerplate())
	return beside{signs, signs && isEnough(text, ample, boilerplate())}
}

// imageSketch makes a sketch of the views of an image. The position of a feature is
// the number of its view.
func imageSketch(views []picture.Code) Sketch {
	s := Sketch{Kind: KindImage}
	for i, v := range views {
		for _, h := range v.Anchors {
			s.Anchors = append(s.Anchors, Feature{h, uint32(i)})
		}
		for _, h := range v.Keys {
			s.Keys = append(s.Keys, Feature{h, uint32(i)})
		}
	}
	return s
}

// imageGroups are each anchor with all keys of its view: for a report, of the first
// view only, for a check, of all.
func (s Sketch) imageGroups(keyed func(uint64) uint64, views uint32) []Group {
	keys := make(map[uint32][]uint64)
	for _, k := range s.Keys {
		keys[k.Pos] = append(keys[k.Pos], keyed(k.Hash))
	}
	var groups []Group
	for _, a := range s.Anchors {
		if a.Pos < views {
			groups = append(groups, Group{Anchor: keyed(a.Hash), Keys: keys[a.Pos], Need: needOfImage, Weak: weakOfImage})
		}
	}
	return groups
}
