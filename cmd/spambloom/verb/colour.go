package verb

import (
	"io"
	"os"
)

// Colours of a terminal, as numbers of SGR.
const (
	Bold   = "1"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
)

// Paint returns text in a colour if w is a terminal, and the user does not object to colours
// (no-color.org).
func Paint(w io.Writer, colour, text string) string {
	if !IsTerminal(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// kindColours are the colours of lines on standard error, by their kind.
var kindColours = map[string]string{"error": Red, "warning": Yellow, "hint": Cyan, "total": Bold}
