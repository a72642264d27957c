package signature

// The most that a message has, for packages that receive signatures from others.
const (
	// MaxAttachments is how many signatures of KindAttachment there are, and as many of
	// KindContent. Of each other kind there is one.
	MaxAttachments = maxAttachments
	// MaxImages is how many sketches of KindImage there are. Those of images in attached
	// messages are counted twice: a marked one, and one that is only asked.
	MaxImages = 2 * maxPictures
	// MaxTexts is how many sketches of KindSketch there are, before those of images. One
	// of the first two is only asked.
	MaxTexts = 4
	// MaxPhrases is how many signatures of KindPhrase there are.
	MaxPhrases = maxPhrases
)
