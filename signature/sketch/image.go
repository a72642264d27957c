package sketch

import (
	"slices"

	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/picture"
)

const (

	// needOfImage is t in "at least t of 20 keys"; weakOfImage is t if something else
	// supports the match. Variations of an image keep 15 to 20 keys, and about 11 to 13
	// if one line in ten is another. Different images of one template have up to 10 in
	// common (none of 22,350 pairs had more), others 8.
	needOfImage, weakOfImage = 11, 8
)

// OfImage returns the sketch of the views of an image. The position of a feature is the
// number of its view.
func OfImage(views []picture.Code) Sketch {
	s := Sketch{Kind: digest.KindImage}
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

// imageGroups returns each anchor with all keys of its view, for the first views. A
// report stores the first view only, a check asks for all.
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

// WithMark returns a sketch that has other features than s, different ones for each mark.
func (s Sketch) WithMark(mark byte) Sketch {
	return Sketch{Kind: s.Kind, Anchors: markedFeatures(s.Anchors, mark), Keys: markedFeatures(s.Keys, mark)}
}

func markedFeatures(plain []Feature, mark byte) []Feature {
	list := slices.Clone(plain)
	for i := range list {
		list[i].Hash = digest.Mix(list[i].Hash ^ uint64(mark))
	}
	return list
}
