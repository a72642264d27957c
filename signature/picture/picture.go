// Package picture tells images by what they show: codes that stay mostly the same
// when an image is encoded anew, scaled, framed, cropped a little, made lighter or
// darker, or sprinkled with noise, dots and lines.
//
// An image becomes a small grid of luminances, of which the local mean is taken
// away and the local contrast made equal, so that large plain fields and their
// edges, which a template has, weigh no more than what stands in them. Of that,
// the middle frequencies of a discrete cosine transform are taken, each with its
// sign and a weight. Samples are drawn from them so that two images draw the same
// sample with a probability that grows with how alike they are (weighted min-wise
// hashing; as in Yang et al., "POIsketch", 2016, and Moulton and Jiang, "Maximally
// consistent sampling and the Jaccard index of probability distributions", 2018).
// A code is hashes of two or three samples each.
//
// It is a pure function of the image; floating-point results may differ in the last
// place between processor families, which changes a hash about never.
package picture

import "errors"

// Code is what a view of an image is told by. Each hash is uniform and differs by
// its place, so that an anchor never equals a key.
type Code struct {
	Anchors [6]uint64  // of three samples each
	Keys    [20]uint64 // of two samples each
}

// Image is what is known of one image.
type Image struct {
	Width, Height int
	// Codes are those of views of the image: the first is of the image without a
	// narrow margin, the others are framed slightly otherwise. Two images are alike
	// where the first code of the one is like any of the other's: the other may be
	// cropped, or have a border added.
	Codes []Code
}

var errPlain = errors.New("image shows too little")

// Read decodes an image in GIF (of an animation, what is shown longest), PNG, JPEG, BMP or
// lossy WebP. Faults that programs overlook do not matter, such as a missing end. It returns
// what decoding cost, in pixels, also where there is an error: for an image of another
// format, below 100 pixels wide or high, below 30,000 in all, over the budget, with faults, or
// nearly plain. Time and memory follow the cost: some 30 ns and 16 bytes a pixel; beside it,
// each byte takes up to 170 ns and 1.3 of memory, and an image read 2 ms.
func Read(content []byte, budget int) (Image, int, error) {
	m, cost, err := decode(content, budget)
	if err != nil {
		return Image{}, cost, err
	}
	im := Image{Width: m.Bounds().Dx(), Height: m.Bounds().Dy()}
	g := shrink(m)
	for i, f := range frames {
		v := cut(g, f)
		if i == 0 && v.isPlain() {
			return Image{}, cost, errPlain
		}
		im.Codes = append(im.Codes, v.equalise().code())
	}
	return im, cost, nil
}
