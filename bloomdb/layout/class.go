package layout

import (
	"fmt"
)

// Class says what sort of spam a message was reported as. The zero value is
// ClassOther.
//
// # How classes are kept
//
// Beside the spam filter of a generation stands a class filter, and a signature
// that is listed is asked for its class: the cross-checking of Lim, Lee, Lee and
// Yim (2014), a main filter over all keys with a filter for each class behind it.
// Here one pooled filter holds (class, signature) pairs, whose positions come
// from the federation's key in a domain of their own: they are independent of the
// spam filter's, which the paper's Lemma asks for. It errs like class filters of
// which each has its share of the bits by the mix of classes, which nobody knows
// beforehand. ClassOther takes no bits.
//
// The paper also claims fewer false positives than one filter of the same memory
// has. That is wrong: with C classes they are C times as many, since a key that
// nobody reported is found when the main filter errs and one of the C does (at 16
// bits a key 4.6e-4 for one filter, 9.2e-4 with two classes behind it, 1.8e-3 with
// four). So a class is a label and nothing else: it never lists a message, and the
// lack of one never clears it.
type Class uint8

// The classes, the gravest first but for ClassOther. Their numbers stand in the
// journal and in the positions.
const (
	ClassOther   Class = 0 // none was named, or none of these
	ClassMalware Class = 1
	ClassPhish   Class = 2
	ClassScam    Class = 3
	ClassBulk    Class = 4

	NamedClasses = 4 // all but ClassOther
)

// ClassError is the chance that a full class filter knows a pair that was never
// added. A listing is asked for four classes at each site that reported it: a
// filter that is full of pairs gives a wrong label to 4 of 1000 listings of one
// site, and one that is a third full to 1 of 10,000. It is full only when every
// message has as many signatures as were planned for, and every report a class.
const ClassError = 1e-3

// Classes lists all classes in the order in which they are shown.
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

// Named reports whether the class says anything: it is one, and not ClassOther.
func (c Class) Named() bool { return c > ClassOther && c <= NamedClasses }

// ParseClass reads a class's name. The empty name is ClassOther.
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

// MarshalText is String; UnmarshalText is ParseClass.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is ParseClass.
func (c *Class) UnmarshalText(text []byte) (err error) {
	*c, err = ParseClass(string(text))
	return err
}

// Gravest is the one of two classes that a message is called by.
func Gravest(a, b Class) Class {
	if !a.Named() || b.Named() && b < a {
		return b
	}
	return a
}
