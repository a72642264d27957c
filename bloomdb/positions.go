package bloomdb

import (
	"github.com/spambloom/spambloom/signature"
)

// isOfMessage reports whether a signature stands for its message: that of the body or of the
// text. That of an attachment does not.
func isOfMessage(k signature.Kind) bool { return k == signature.KindBody || k == signature.KindText }
