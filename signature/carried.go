package signature

import (
	"slices"

	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/sketch"
)

// marked returns content with the mark of how it is carried.
func marked(carried mail.Carriage, content []byte) []byte {
	if carried == mail.OwnPart {
		return content
	}
	return slices.Concat(carried.Mark(), content)
}

// digestOf returns the digest of a file in an attached message; d itself for one of the
// message.
func digestOf(carried mail.Carriage, kind digest.Kind, d digest.Digest) digest.Digest {
	if carried != mail.AttachedPart {
		return d
	}
	return digest.Sum(kind, marked(carried, d[:]))
}

// sketchesOf returns the sketches of an image. For one in an attached message these are a
// marked one for reports, and the plain one, which is only asked.
func sketchesOf(carried mail.Carriage, plain sketch.Sketch) []sketch.Sketch {
	if carried != mail.AttachedPart {
		return []sketch.Sketch{plain}
	}
	mark := carried.Mark()[0]
	reported := plain.WithMark(mark)
	reported.AskOnly, plain.AskOnly = plain.AskOnly, true
	return []sketch.Sketch{reported, plain}
}
