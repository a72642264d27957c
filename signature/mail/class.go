package mail

import "strings"

// Classes of parts: what the exact body signature keeps of a media type.
const (
	classPlain = 'p'
	ClassHTML  = 'h'
	ClassOther = 'o'
)

func Class(mediaType string) byte {
	switch {
	case mediaType == "text/html":
		return ClassHTML
	case strings.HasPrefix(mediaType, "text/"):
		return classPlain
	}
	return ClassOther
}
