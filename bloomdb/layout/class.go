package layout

import (
	"fmt"
)

// Class is the sort of spam that a message was reported as. The zero value is
// ClassOther.
//
// # How classes are stored
//
// Each generation has a class filter beside its spam filter. Only signatures that the
// spam filter lists are looked up in it. This is the cross-checking of Lim, Lee, Lee and
// Yim (2014): a main filter over all keys, and a filter for each class behind it. Here,
// one pooled filter contains (class, signature) pairs. Their positions are derived from
// the federation key for a purpose of their own, so they are independent of the spam
// filter's, as the paper's Lemma requires. The pooled filter has the same error as
// separate class filters sized by the mix of classes, and the mix need not be known
// beforehand. ClassOther sets no bits.
//
// The paper also claims fewer false positives than one filter of the same memory. That
// is wrong: C classes give C times as many. An unreported key is found when the main
// filter errs and one of the C class filters does. At 16 bits a key that is 4.6e-4 for
// one filter, 9.2e-4 with two classes and 1.8e-3 with four. A class is therefore only a
// label: it never lists a message, and its absence never clears one.
type Class uint8

// The classes, gravest first after ClassOther. Their numbers are stored in the journal
// and determine positions in the class filter.
const (
	ClassOther   Class = 0 // no class, or an unknown one, was named
	ClassMalware Class = 1
	ClassPhish   Class = 2
	ClassScam    Class = 3
	ClassBulk    Class = 4

	NamedClasses = 4 // all but ClassOther
)

// ClassError is the chance that a full class filter contains a pair that was never
// added. A listing looks up four classes at each site that reported it. A full filter
// therefore gives a wrong label to 4 of 1000 listings of one site; a filter that is a
// third full, to 1 of 10,000. A filter is full only when every message has as many
// signatures as planned and every report names a class.
const ClassError = 1e-3

// Classes returns all classes in display order.
func Classes() []Class {
	return []Class{ClassPhish, ClassScam, ClassMalware, ClassBulk, ClassOther}
}

func (c Class) String() string {
	switch c {
	case ClassOther:
		return "other"
	case ClassMalware:
		return "malware"
	case ClassPhish:
		return "phish"
	case ClassScam:
		return "scam"
	case ClassBulk:
		return "bulk"
	}
	return fmt.Sprintf("class %d", uint8(c))
}

// Named reports whether the class is a known one other than ClassOther.
func (c Class) Named() bool { return c > ClassOther && c <= NamedClasses }

// ParseClass parses the name of a class. The empty name is ClassOther.
func ParseClass(name string) (Class, error) {
	if name == "" {
		return ClassOther, nil
	}
	for _, c := range Classes() {
		if c.String() == name {
			return c, nil
		}
	}
	return ClassOther, fmt.Errorf("unknown class %.60q; want one of %v", name, Classes())
}

// MarshalText returns the class's name.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is the inverse of MarshalText. It accepts what ParseClass does.
func (c *Class) UnmarshalText(text []byte) (err error) {
	*c, err = ParseClass(string(text))
	return err
}

// Gravest returns the graver of two classes. A named class is graver than ClassOther.
func Gravest(a, b Class) Class {
	if !a.Named() || b.Named() && b < a {
		return b
	}
	return a
}
