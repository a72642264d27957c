package signature

import (
	"bytes"
)

const (
	// maxClassList bounds, in bytes, what of an element's classes is compared.
	maxClassList = 256
	// maxCompounds bounds the elements that one selector names.
	maxCompounds = 8
)

// compound is what a selector asks of one element; what is empty it does not ask.
type compound struct {
	name, id []byte
	classes  [][]byte
	isParent bool // of the element that the next compound names, else an ancestor
}

// chain is a selector that a look-up does not answer: "div .a > b", ".a.b", "*".
type chain struct {
	compounds []compound // the last one is the element that is given a look
	declared  *declared
}

// named is what selectors ask of an element.
type named struct{ name, class, id []byte }

// readChain reads a selector in lower case. It has no attributes,
// pseudo-classes and siblings.
func readChain(selector []byte) (list []compound, ok bool) {
	fields := bytes.Fields(bytes.ReplaceAll(selector, []byte(">"), []byte(" > ")))
	for _, f := range fields {
		if string(f) == ">" {
			if len(list) == 0 {
				return nil, false
			}
			list[len(list)-1].isParent = true
			continue
		}
		list = append(list, readCompound(f))
	}
	return list, len(list) > 0 && len(list) <= maxCompounds && !list[len(list)-1].isParent
}

func readCompound(text []byte) (c compound) {
	for len(text) > 0 {
		end := bytes.IndexAny(text[1:], ".#") + 1
		if end == 0 {
			end = len(text)
		}
		switch part := text[:end]; part[0] {
		case '.':
			c.classes = append(c.classes, part[1:])
		case '#':
			c.id = part[1:]
		case '*':
		default:
			c.name = part
		}
		text = text[end:]
	}
	return c
}

// key is by what chains are found that end with c.
func (c compound) key() string {
	switch {
	case len(c.id) > 0:
		return "#" + string(c.id)
	case len(c.classes) > 0:
		return "." + string(c.classes[0])
	case len(c.name) > 0:
		return string(c.name)
	}
	return "*"
}

// isSimple tells a compound that a look-up answers: see sheet.
func (c compound) isSimple() bool {
	parts := len(c.classes)
	if len(c.id) > 0 {
		parts++
	}
	return parts == 1 || parts == 0 && len(c.name) > 0
}

func (c *compound) fits(e *named) bool {
	if len(c.name) > 0 && !bytes.Equal(c.name, e.name) || len(c.id) > 0 && !bytes.Equal(c.id, e.id) {
		return false
	}
	for _, class := range c.classes {
		if !hasClass(e.class, class) {
			return false
		}
	}
	return true
}

// hasClass tells whether a class is in a list of them.
func hasClass(list, class []byte) bool {
	for one := range bytes.FieldsSeq(list) {
		if bytes.Equal(one, class) {
			return true
		}
	}
	return false
}

// cost is what it takes at most to compare c with e, in steps of some 10 ns.
func (c *compound) cost(e *named) int { return 1 + len(c.classes)*(1+len(e.class)/8) }

// fits tells whether a chain selects the last of a path of elements, the outermost
// first. Of several ancestors that fit, the innermost is taken: so a chain of children
// inside descendants may miss, and the time stays linear in the path. Steps are lowered
// by what it cost.
func (c *chain) fits(path []named, steps *int) bool {
	at := len(path) - 1
	for i := len(c.compounds) - 1; i >= 0; i-- {
		one := &c.compounds[i]
		isNext := i == len(c.compounds)-1 || one.isParent
		for ; ; at-- {
			if at < 0 || *steps < 0 {
				return false
			}
			*steps -= one.cost(&path[at])
			if one.fits(&path[at]) {
				break
			}
			if isNext {
				return false
			}
		}
		at--
	}
	return true
}
