package papers

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
)

// MaxClasses bounds the class filters of a CrossCheck.
const MaxClasses = 64

// CrossCheck is the cross-checking Bloom filter (Lim, Lee, Lee, Yim, "Reducing
// False Positives of a Bloom Filter using Cross-Checking Bloom Filters", Appl.
// Math. Inf. Sci. 8(4), 2014): a main filter S has all keys, and each class filter
// has the keys of one class. Only a key that the main filter finds is asked for in
// the classes. If no class has it, it was a false positive of the main filter; else
// the classes that have it are its label, which is the second thing this is for.
//
//	Add(class, ...) -> main filter, class filter
//	Query           -> main filter: no -> empty set: not a key
//	                                yes -> every class filter -> set of classes
//
// The chance that a key never added is found is f_S * (1 - (1-f_A)(1-f_B)...),
// Eq. 31 for any number of classes: see CrossCheckError. It holds only where every
// filter has hash functions of its own, keyed with another key or another domain
// byte: with the same ones, a false positive of the main filter is one of a class
// filter too. A key that was added is always found, and its class is always among
// the classes.
//
// It does not save memory, whatever the paper's tables say. With C classes, a main
// filter and class filters of M bits a key have about C times the error of one
// filter of 2*M bits a key, with the best k for each. Its gain is the label, and
// that most keys that were never added cost the lookup of one filter and not of C.
// Package bloomdb uses it for the label: the classes of reports stand in a filter
// beside the spam filter. There a listing without a class stays a listing.
//
// Queries may run at the same time as each other, but not as Add.
type CrossCheck struct {
	main    *Classic
	classes []*Classic
}

// NewCrossCheck joins a main filter and its class filters, 1 to MaxClasses, each
// of any size and k. They may already have keys, and may belong to more than one
// CrossCheck.
func NewCrossCheck(main *Classic, classes ...*Classic) (*CrossCheck, error) {
	if main == nil {
		return nil, errors.New("cross-checking filter: no main filter")
	}
	if len(classes) < 1 || len(classes) > MaxClasses {
		return nil, fmt.Errorf("cross-checking filter: %d classes, must be 1 to %d", len(classes), MaxClasses)
	}
	for i, c := range classes {
		if c == nil {
			return nil, fmt.Errorf("cross-checking filter: class %d has no filter", i)
		}
	}
	return &CrossCheck{main: main, classes: classes}, nil
}

// NewDual makes the dual filter that the paper compares with (Tabataba & Hashemi,
// "Improving False Positive in Bloom Filter", 2011): two filters of all keys, of
// which the second is asked where the first says yes. It is a CrossCheck with the
// one class 0.
func NewDual(first, second *Classic) (*CrossCheck, error) { return NewCrossCheck(first, second) }

// Main is the filter of all keys.
func (c *CrossCheck) Main() *Classic { return c.main }

// Class is the filter of class i, 0 to Classes()-1.
func (c *CrossCheck) Class(i int) *Classic { return c.classes[i] }

// Classes is the number of class filters.
func (c *CrossCheck) Classes() int { return len(c.classes) }

// Memory is the size of all filters together, in bits.
func (c *CrossCheck) Memory() uint64 {
	size := c.main.Size()
	for _, class := range c.classes {
		size += class.Size()
	}
	return size
}

// Add adds a key to a class, 0 to Classes()-1, by its positions in the main filter
// and those in that class' filter. A key may be added to more than one class.
func (c *CrossCheck) Add(class int, inMain, inClass []uint64) {
	c.main.Set(inMain)
	c.classes[class].Set(inClass)
}

// Query asks for a key by its positions in the main filter. Where that has it,
// inClass is asked for the key's positions in each class filter; it may use one
// slice again for all of them.
func (c *CrossCheck) Query(inMain []uint64, inClass func(class int) []uint64) ClassSet {
	if !c.main.Has(inMain) {
		return 0
	}
	var found ClassSet
	for i, class := range c.classes {
		if class.Has(inClass(i)) {
			found |= 1 << i
		}
	}
	return found
}

// Error is the chance, from the bits as they stand, that a key never added is
// found.
func (c *CrossCheck) Error() float64 {
	classes := make([]float64, len(c.classes))
	for i, class := range c.classes {
		classes[i] = class.Error()
	}
	return CrossCheckError(c.main.Error(), classes...)
}

// CrossCheckError is the chance that a key never added is found, from the errors
// of the filters: f_S * (1 - product of (1-f_c)). For two classes it is Eq. 31.
func CrossCheckError(main float64, classes ...float64) float64 {
	negative := 0.0 // logarithm, so that errors of 1e-17 and less are not lost
	for _, f := range classes {
		negative += math.Log1p(-f)
	}
	return -main * math.Expm1(negative)
}

// ClassSet is a set of classes: bit i is class i. The empty set says that the key
// was never added.
type ClassSet uint64

// Has says whether class i, 0 to MaxClasses-1, is in the set.
func (s ClassSet) Has(i int) bool { return s>>i&1 != 0 }

// Len is the number of classes in the set.
func (s ClassSet) Len() int { return bits.OnesCount64(uint64(s)) }

// All goes through the classes of the set, ascending.
func (s ClassSet) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(bits.TrailingZeros64(uint64(s))) {
				return
			}
		}
	}
}
