package presence

import (
	"fmt"
	"strings"
)

// maxNotes bounds the sites that are named: anybody with access to Redis can invent some.
const maxNotes = 8

// Notes compares the sites that use the same Redis with this one. It returns one sentence for
// each that has another federation key or other parameters.
func Notes(own Entry, others []Entry) (notes []string) {
	for _, o := range others {
		switch {
		case !o.SharesKey(own):
			notes = append(notes, fmt.Sprintf("%s uses this Redis with another federation key, %s (here %s); spambloom invite on one side and spambloom join on the other make them one federation", o.Site, o.KeyIDs, own.KeyIDs))
		case o.Parameters != own.Parameters:
			notes = append(notes, fmt.Sprintf("%s has other values in [reports]: %s (here %s); they must be the same", o.Site, describeParameters(o.Parameters), describeParameters(own.Parameters)))
		}
		if len(notes) == maxNotes {
			break
		}
	}
	return notes
}

func describeParameters(text string) string {
	values := strings.Split(text, "/")
	names := []string{"period", "keep", "capacity", "max_error_per_mail"}
	if len(values) != len(names) {
		return text
	}
	for i, name := range names {
		values[i] = name + " " + values[i]
	}
	return strings.Join(values, ", ")
}
