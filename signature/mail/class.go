package mail

import "strings"

// The classes of parts: what the exact body signature keeps of a media type.
const (
	classPlain = 'p'
	ClassHTML  = 'h'
	ClassOther = 'o'
)

// Class returns the class of a media type.
func Class(mediaType string) byte {
	switch {
	case mediaType == "text/html":
		return ClassHTML
	case strings.HasPrefix(mediaType, "text/"):
		return classPlain
	}
	return ClassOther
}
