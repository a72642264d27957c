package signature

import (
	"bytes"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/guard"
	"github.com/spambloom/spambloom/signature/links"
	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/page"
	"github.com/spambloom/spambloom/signature/sketch"
	"github.com/spambloom/spambloom/signature/visible"
	"github.com/spambloom/spambloom/signature/words"
)

const (
	// leastTags and leastKinds are how many tags, and different ones, a page needs for its
	// structure to be a witness, and leastBones for its coarse structure. Mail programs
	// write less around a letter.
	leastTags, leastBones, leastKinds = 6, 6, 4
	// weightOfPath is how many words a path counts as.
	weightOfPath = 3
	// maxFields bounds the text of a part for fields of a mail system that is read, in bytes.
	maxFields = 16 << 10
	// maxPhrases bounds the signatures of KindPhrase.
	maxPhrases = 2
)

// shownPage returns the first page that the message shows as its own, and if it has none, the first
// one that it carries in a later part; or nil.
func (c *computer) shownPage() (v *visible.View, carried mail.Carriage) {
	for i := range c.texts.Parts {
		p := &c.texts.Parts[i]
		if p.IsAside || p.View == nil || !p.View.IsPage || p.Carried == mail.AttachedPart {
			continue
		}
		if carriage := c.texts.CarriageOf(p); carriage == mail.OwnPart {
			return p.View, carriage
		} else if v == nil {
			v, carried = p.View, carriage
		}
	}
	return v, carried
}

// shapeSketch returns the sketch of the page that the message shows, if that has enough
// structure. texts are the other sketches of the message. A structure that is carried has a mark.
func (c *computer) shapeSketch(header []mail.Field, texts []sketch.Sketch) (s sketch.Sketch, ok bool) {
	v, carried := c.shownPage()
	if v == nil {
		return s, false
	}
	k := v.Skeleton
	if carried != mail.OwnPart {
		k = k.WithMark(carried.Mark()[0])
	}
	if k.Tags < leastTags || k.TagKinds < leastKinds || !k.HasLayout {
		return s, false
	}
	shape := sketch.Shape{Fine: k.Fine, Sender: links.SenderOf(header)}
	if k.Bones >= leastBones && k.BoneKinds >= leastKinds {
		shape.Coarse = k.Coarse
	}
	if shape.Outlines = []uint64{digest.Mix(k.Fine)}; k.Outlines[0] != 0 {
		shape.Outlines = k.Outlines[:]
	}
	if words.IsEnough(c.reader.shown.Text, words.Ample) {
		shape.Runs = runsOf(texts)
		return sketch.OfShape(shape), true
	}
	paths := links.PathsOf(v.References, &c.work)
	contents := c.reader.fewWords(v.Labels, mail.Subject(header))
	for _, path := range slices.Concat(paths.Pictures, paths.Links) {
		h := words.Hash([]byte(path))
		for i := range uint64(weightOfPath) {
			contents = append(contents, digest.Mix(h+i+1))
		}
	}
	slices.Sort(contents)
	shape.Contents = slices.Compact(contents)
	return sketch.OfShape(shape), true
}

// runsOf returns the runs of words of the text that a report lists.
func runsOf(texts []sketch.Sketch) []uint64 {
	if len(texts) == 0 || texts[0].Kind != digest.KindSketch || texts[0].AskOnly {
		return nil
	}
	runs := make([]uint64, len(texts[0].Keys))
	for i, key := range texts[0].Keys {
		runs[i] = key.Hash
	}
	return runs
}

// showsLinkedPicture reports whether the page of a message has a remote picture and a link.
func (c *computer) showsLinkedPicture() bool {
	v, _ := c.shownPage()
	if v == nil {
		return false
	}
	hasPicture, hasLink := false, false
	for _, r := range v.References {
		hasPicture = hasPicture || r.IsPicture && ascii.HasPrefixFold(r.Value, "http")
		hasLink = hasLink || r.Rank == page.Clicked && !r.IsText
	}
	return hasPicture && hasLink
}

// phrases returns the signatures of a text that is too short to sign: of its words
// together with the domain of a link. A page that shows a linked picture only has none, and
// the domains of all its links: a spam may have one to another's site, which would list mail alone. The sender writes
// the recipients, so their domains count, too; but alone only with several words, as a firm's signature block has its own,
// and those of a mail within a firm, by its From, differ from those of other mail: a spam cannot list its short mails.
func (c *computer) phrases(m mail.Message, domains []string) (digests []digest.Digest) {
	own := c.reader.ownText()
	domains = slices.DeleteFunc(slices.Clone(domains), links.WellKnown)
	recipients := slices.DeleteFunc(slices.Clone(c.links.Recipients[:c.links.Own]), links.WellKnown)
	switch {
	case len(c.reader.shown.Text) <= maxGreeting && c.showsLinkedPicture():
		if len(domains) > 0 {
			domains = append(domains, recipients...)
			slices.Sort(domains)
			own, domains = nil, []string{strings.Join(domains, " ")}
		}
	case words.HasContent(own, words.Several):
		domains = append(domains, recipients...)
	case !words.HasContent(own, words.Few):
		return nil
	}
	if len(domains) == 0 {
		return nil
	}
	if c.guardOf(m, c.reader.shown.Text) != guard.None {
		return nil
	}
	for _, d := range domains[:min(len(domains), maxPhrases)] {
		content := d + " " + string(own)
		if slices.Contains(recipients, d) && d == links.SenderDomain(m.Header) {
			content = " " + content
		}
		digests = append(digests, digest.Sum(digest.KindPhrase, []byte(content)))
	}
	return digests
}

// mayShowMore reports whether the message could sign by its text, or by a phrase, if readers saw as its author's what
// seems to be hidden or another's: a style that is undone hides nothing, and a spam may consist of quoted lines, or be
// the second part. So it may if it has many letters that are no words.
func (c *computer) mayShowMore(domains []string) bool {
	hasLink := slices.ContainsFunc(domains, func(d string) bool { return !links.WellKnown(d) })
	for _, replaced := range []bool{false, true} {
		own := c.reader.readEvery(replaced)
		if words.IsEnough(c.reader.every.Text, words.Brief) || c.reader.every.HasLong() || hasLink && words.HasContent(own, words.Few) {
			return true
		}
	}
	return hasLink && len(c.reader.shown.Text) <= maxGreeting && c.showsLinkedPicture()
}

// mayShowFields reports whether the message could sign by the text of a part for fields of a mail system: some programs
// show that, too, and a sender can write any words there. A mail system's notice is none of these messages.
func (c *computer) mayShowFields(header []mail.Field) bool {
	if len(c.fields) == 0 || guard.IsNotice(header, c.reader.textAside()) {
		return false
	}
	c.reader.every.Restart()
	for _, l := range c.fields {
		c.work.Count(2 * l.Steps())
		c.decoded = l.Content(c.decoded[:0])
		c.reader.every.Add(bytes.ToValidUTF8(c.decoded[:min(len(c.decoded), maxFields)], nil), nil, nil)
	}
	return words.IsEnough(c.reader.every.Text, words.Brief)
}
