package papers

import (
	"errors"
	"fmt"
	"math"
)

// maxClasses bounds the class filters of a CrossCheck.
const maxClasses = 64

// CrossCheck is the cross-checking Bloom filter (Lim, Lee, Lee, Yim, "Reducing
// False Positives of a Bloom Filter using Cross-Checking Bloom Filters", Appl.
// Math. Inf. Sci. 8(4), 2014): a main filter S has all keys, and each class filter
// has the keys of one class. Only a key that the main filter finds is looked up in the
// classes. If no class has it, it was a false positive of the main filter. Otherwise the
// classes that have it are its label, the second purpose of the structure.
//
//	key of a class -> Set of the main filter and of the class filter
//	Query -> main filter: no -> empty set: not a key
//	                      yes -> every class filter -> set of classes
//
// The chance that a key never added is found is f_S * (1 - (1-f_A)(1-f_B)...),
// Eq. 31 for any number of classes: see CrossCheckError. It requires that every filter
// has its own hash functions, with another key or another domain byte. With common ones,
// a false positive of the main filter is also one of a class filter. A key that was added
// is always found, and its class is always among the classes.
//
// It does not save memory, contrary to the paper's tables. With C classes, a main filter
// and class filters of M bits a key have about C times the error of one filter of 2*M
// bits a key, with the best k for each. Its gain is the label, and that most keys never
// added cost the lookup of one filter instead of C. Package bloomdb uses the idea for the
// label: the classes of reports are in a filter beside the spam filter. There a listing
// without a class remains a listing. With one class it is the dual filter with which the
// paper compares it (Tabataba & Hashemi, "Improving False Positive in Bloom Filter",
// 2011).
//
// Queries may run concurrently with each other, but not with a Set.
type CrossCheck struct {
	main    *Classic
	classes []*Classic
}

// NewCrossCheck joins a main filter and its class filters, 1 to maxClasses, each
// of any size and k. They may already have keys, and may belong to more than one
// CrossCheck.
func NewCrossCheck(main *Classic, classes ...*Classic) (*CrossCheck, error) {
	if main == nil {
		return nil, errors.New("cross-checking filter: no main filter")
	}
	if len(classes) < 1 || len(classes) > maxClasses {
		return nil, fmt.Errorf("cross-checking filter: %d classes, must be 1 to %d", len(classes), maxClasses)
	}
	for i, c := range classes {
		if c == nil {
			return nil, fmt.Errorf("cross-checking filter: class %d has no filter", i)
		}
	}
	return &CrossCheck{main: main, classes: classes}, nil
}

// Class is the filter of class i, from 0 on.
func (c *CrossCheck) Class(i int) *Classic { return c.classes[i] }

// Query asks for a key by its positions in the main filter and returns the set of
// the key's classes: bit i is class i, and 0 means that the key was never added.
// If the main filter has the key, Query calls inClass for its positions in each class
// filter; inClass may reuse one slice.
func (c *CrossCheck) Query(inMain []uint64, inClass func(class int) []uint64) (classes uint64) {
	if !c.main.Has(inMain) {
		return 0
	}
	for i, class := range c.classes {
		if class.Has(inClass(i)) {
			classes |= 1 << i
		}
	}
	return classes
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
