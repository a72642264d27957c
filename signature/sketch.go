package signature

// Sketch is what a near-duplicate of a message, or of an image in it, is told by:
// features that most of its variations keep. No feature says anything alone. A
// report stores a few groups: an anchor, and keys that stand near it. A check asks
// for all places of the message at which a report could be anchored, and a match
// is one group of which at least Need keys were stored with that same anchor, so
// that keys of different reports never add up.
type Sketch struct {
	Kind    Kind      // KindSketch or KindImage
	Anchors []Feature // by position
	Keys    []Feature // by position
	Size    int       // features in all, of which Keys are a sample
}

// Feature is one feature of a sketch.
type Feature struct {
	Hash uint64 // uniform, the same at every site; not keyed
	Pos  uint32 // of the first word in the text
}

// Group is an anchor and the keys that are stored, or asked, with it.
type Group struct {
	Anchor uint64
	Keys   []uint64 // different ones
	Need   int      // a match needs that many of Keys
	Weak   int      // and that many where something else corroborates it
}

// Reported are the groups that a report of the message stores.
func (s Sketch) Reported() []Group { return nil }

// Asked are the groups that a check of the message asks for, in a fixed order.
func (s Sketch) Asked() []Group { return nil }
