package page

import "github.com/spambloom/spambloom/signature/work"

const (
	// maxBones bounds the elements of a coarse skeleton. Those behind them do not count.
	maxBones = 2048
	// longestRow is the number of elements up to which a row that is repeated counts once.
	longestRow = 8
	// maxKinds bounds the different elements that are counted.
	maxKinds = 8
)

// Skeleton is the structure of a page without its content. It has two forms: all start tags
// in order, each with those of its attributes that are layout; and coarsely, the elements
// that boxes, lists and pictures are made of, in which rows of equal structure count once.
// So the coarse one remains if an item is added, or words are emphasised.
type Skeleton struct {
	Fine, Coarse uint64 // hashes
	Tags, Bones  int    // number of tags of the fine one, of elements of the coarse one
	TagKinds     int    // number of different tags, up to maxKinds
	BoneKinds    int    // the same for the coarse one
	HasLayout    bool   // it has a table, a picture or a form, and is not just text
}

// skeleton collects the tags of the page that is read.
type skeleton struct {
	bones []uint64 // of the coarse one
	fine  uint64
	tags  int
	boxed bool             // an element of isLayout was read
	kinds [maxKinds]uint64 // different tags; 0 where there are fewer
}

// restart empties s for another page. It keeps its buffer, unless that is too large.
func (s *skeleton) restart() { *s = skeleton{bones: s.bones[:0], fine: fnvOffset} }

// FNV-1a of 64 bits.
const fnvOffset, fnvPrime = 14695981039346656037, 1099511628211

// add adds a tag with the set of its attributes.
func (s *skeleton) add(name []byte, attributes uint32) {
	h := uint64(fnvOffset)
	for _, c := range name {
		h = (h ^ uint64(c)) * fnvPrime
	}
	h = (h ^ uint64(attributes)) * fnvPrime
	s.fine = (s.fine ^ h ^ s.fine>>29) * fnvPrime
	s.tags++
	addKind(&s.kinds, h)
	s.boxed = s.boxed || isLayout[string(name)]
	if isBone[string(name)] && len(s.bones) < maxBones {
		s.bones = withoutRow(append(s.bones, h))
	}
}

// addKind adds a tag to a set, if there is room.
func addKind(kinds *[maxKinds]uint64, h uint64) {
	for i, k := range kinds {
		if k == h {
			return
		}
		if k == 0 {
			kinds[i] = h
			return
		}
	}
}

// withoutRow removes the last elements if they repeat those before them.
func withoutRow(bones []uint64) []uint64 {
	n := len(bones)
	for row := 1; row <= longestRow && 2*row <= n; row++ {
		i := n - 1
		for i >= n-row && bones[i] == bones[i-row] {
			i--
		}
		if i < n-row {
			return bones[:n-row]
		}
	}
	return bones
}

// skeleton returns what was collected.
func (s *skeleton) skeleton(w *work.Steps) Skeleton {
	w.Spend(len(s.bones))
	coarse, kinds := uint64(fnvOffset), [maxKinds]uint64{}
	for _, b := range s.bones {
		coarse = (coarse ^ b ^ coarse>>29) * fnvPrime
		addKind(&kinds, b)
	}
	return Skeleton{Fine: s.fine, Coarse: coarse, Tags: s.tags, Bones: len(s.bones), TagKinds: count(&s.kinds), BoneKinds: count(&kinds), HasLayout: s.boxed}
}

func count(kinds *[maxKinds]uint64) (n int) {
	for n < len(kinds) && kinds[n] != 0 {
		n++
	}
	return n
}

// isBone are the elements of a coarse skeleton.
var isBone = setOf("table", "tr", "td", "th", "img", "a", "div", "p", "center", "ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6",
	"hr", "form", "input", "button", "select", "textarea", "map", "area", "section", "header", "footer", "article", "nav",
	"v:roundrect", "v:rect", "v:fill", "blockquote", "pre", "dl", "dt", "dd", "iframe", "object", "embed", "svg", "video", "body")

// isLayout are elements that mail programs do not write around a letter.
var isLayout = setOf("table", "img", "map", "form", "input", "button", "center", "iframe", "object", "embed", "v:rect", "v:roundrect")

func setOf(names ...string) map[string]bool {
	m := make(map[string]bool)
	for _, name := range names {
		m[name] = true
	}
	return m
}
