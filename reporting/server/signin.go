package server

import (
	"errors"
	"net"
	"net/http"

	"github.com/spambloom/spambloom/reporting/api"
)

// reasonSignIn is the reason of a token that is refused at the page.
const reasonSignIn = "sign_in"

var errToken = errors.New("the token is none of those that are let in")

// SignIn returns the client with a token, for the page. holds reports whether the token is still let in: one
// that was removed from the file ends its sessions with the next Reload. A wrong token is counted and logged
// like that of a request. There is no bound of wrong ones: nobody guesses 256 random bits, and browsers that
// share an address, as all of this machine do, would be locked out by one of them.
func (r *Remote) SignIn(token string, from net.Addr) (client string, holds func() bool, err error) {
	proof, ok := r.state.Load().tokens.Prove(token)
	if !ok {
		r.refuse(reasonSignIn, from.String(), errToken)
		return "", nil, api.NewProblem(http.StatusForbidden, "%v", errToken)
	}
	return proof.Client(), func() bool { return r.state.Load().tokens.Holds(proof) }, nil
}

// HasTokens reports whether any token is let in.
func (r *Remote) HasTokens() bool { return len(r.state.Load().tokens) > 0 }
