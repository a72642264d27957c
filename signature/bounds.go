package signature

// What a message has at most, for those who take signatures from others.
const (
	// MaxAttachments is how many signatures of KindAttachment there are, and again of
	// KindContent; of the other kinds there is one each.
	MaxAttachments = maxAttachments
	// MaxImages is how many sketches of KindImage there are: those of images in attached
	// messages twice, marked and only asked.
	MaxImages = 2 * maxPictures
	// MaxTexts is how many sketches of KindSketch there are, before those of images. One of
	// the first two is only asked.
	MaxTexts = 3
)
