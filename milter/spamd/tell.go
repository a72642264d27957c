package spamd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/signature"
)

// Tell is a report or a revocation of a message.
type Tell struct {
	User   string // as the client names it; "": the user who connected
	IsSpam bool   // otherwise it is revoked
	Set    signature.Set
}

// tell reports or revokes a message, and answers. SpamAssassin's two databases, its own and
// those of Razor, Pyzor and DCC, are one here.
func (c *conn) tell(q request, m *milter.Mail) error {
	isSpam, err := q.says()
	if err != nil {
		return err
	}
	if c.options.Tell == nil {
		return &Error{CodeNoAccess, "TELL is not enabled"}
	}
	set, err := m.Sign()
	if err != nil {
		return &Error{CodeTempFail, err.Error()}
	}
	if err := c.options.Tell(context.Background(), c.nc.Conn, Tell{User: q.user, IsSpam: isSpam, Set: set}); err != nil {
		var refused *Error
		if !errors.As(err, &refused) {
			c.options.Log.Error("spamd request failed", "command", q.command, "error", err)
			err = &Error{CodeSoftware, "see the daemon's log"}
		}
		return err
	}
	out := []byte("SPAMD/1.1 0 EX_OK\r\n")
	if did := q.set.String(); did != "" {
		out = fmt.Appendf(out, "DidSet: %s\r\n", did)
	}
	if did := q.remove.String(); did != "" {
		out = fmt.Appendf(out, "DidRemove: %s\r\n", did)
	}
	return c.send(append(out, "Content-length: 0\r\n\r\n"...))
}

// says reports whether a TELL is a report or a revocation.
func (q request) says() (isSpam bool, err error) {
	none := places{}
	switch {
	case q.class == "spam" && q.set != none && q.remove == none:
		return true, nil
	case q.class == "ham" && (q.set != none || q.remove != none):
		return false, nil
	case q.class == "" && q.set == none && q.remove != none:
		return false, &Error{CodeNoAccess, "to forget a report is not possible: revoke it, with Message-class ham"}
	}
	return false, fmt.Errorf("%w: Message-class %.40q with Set %q and Remove %q", errRequest, q.class, q.set, q.remove)
}
