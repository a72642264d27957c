package verb

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/mailbox"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// Exit codes, as in sysexits.h.
const (
	Declined    = 1 // no number of sysexits.h
	Usage       = 64
	Data        = 65
	NoInput     = 66
	Unavailable = 69
	CantCreate  = 73
	IOErr       = 74
	TempFail    = 75
	Protocol    = 76
	NoPerm      = 77
	Config      = 78
	Interrupted = 130 // as shells report SIGINT
)

// Fault is an error with its exit code, and a hint that names what to do; "": none.
type Fault struct {
	Code int
	Err  error
	Hint string
}

func (f *Fault) Error() string { return f.Err.Error() }
func (f *Fault) Unwrap() error { return f.Err }

// UsageError returns the error of a mistake on the command line.
func UsageError(err error) error { return &Fault{Code: Usage, Err: err} }

// OutputError returns the error of a result that cannot be written.
func OutputError(err error) error {
	return &Fault{IOErr, err, "standard output cannot be written; check whether its disk is full"}
}

// ReadFault marks an error as that of an unreadable file or of a wrong one.
func ReadFault(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return &InputError{err}
	}
	return &Fault{Code: Data, Err: err}
}

// Exit is an exit code that is not an error, such as that of `check`.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// InputError is a file or message that cannot be read.
type InputError struct{ Err error }

func (e *InputError) Error() string { return inLine(e.Err.Error()) }
func (e *InputError) Unwrap() error { return e.Err }

// PrintedError is an error that was printed to stderr already.
type PrintedError struct{ Err error }

func (e *PrintedError) Error() string { return e.Err.Error() }
func (e *PrintedError) Unwrap() error { return e.Err }

// RequestError is a failed request about a site, a reporter or an ID.
type RequestError struct {
	Err       error
	Unknown   string // the hint if the daemon refuses it
	IsSetting bool   // it reports no message
}

func (e *RequestError) Error() string { return e.Err.Error() }
func (e *RequestError) Unwrap() error { return e.Err }

// Code returns the exit code of an error. No other function maps errors to codes.
func Code(err error) int {
	var exit Exit
	var fault *Fault
	var input *InputError
	var problem *api.Problem
	var access *client.AccessError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &fault):
		return fault.Code
	case errors.As(err, &exit):
		return int(exit)
	case errors.Is(err, mailbox.ErrEmpty), errors.Is(err, bloomdb.ErrNothing), errors.Is(err, signature.ErrNoHeader):
		return Data
	case errors.As(err, &problem):
		return problemCode(problem.Status)
	case errors.Is(err, client.ErrProtocol):
		return Protocol
	case errors.As(err, &access), errors.Is(err, client.ErrUntrusted):
		return NoPerm
	case errors.Is(err, client.ErrUnavailable):
		return Unavailable
	case errors.As(err, &input):
		return NoInput
	}
	return TempFail // the connection broke: the daemon is stopping, or stuck
}

// problemCode maps a status of the control API to an exit code.
func problemCode(status int) int {
	switch status {
	case http.StatusUnprocessableEntity, http.StatusConflict:
		return Data
	case http.StatusForbidden, http.StatusUnauthorized:
		return NoPerm
	case http.StatusServiceUnavailable, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return TempFail
	case http.StatusInternalServerError:
		return IOErr
	}
	return Protocol
}

// Hint returns what to do about a frequent mistake, or an empty string.
func Hint(err error) string {
	var fault *Fault
	if errors.As(err, &fault) {
		return fault.Hint
	}
	var access *client.AccessError
	switch Code(err) {
	case Data:
		return dataHint(err)
	case Unavailable:
		return "start spambloomd, or name its socket with --control unix:PATH or SPAMBLOOM_CONTROL"
	case IOErr, TempFail:
		return failureHint(err)
	case NoPerm:
		switch h := CredentialsHint(err); {
		case h != "":
			return h
		case errors.As(err, &access):
			return accessHint(access.Path)
		}
		return "members of [control] group may report, and delegates may report for others; everything else needs root or the daemon's user"
	case Protocol:
		return "compare spambloom version with spambloom status"
	}
	return ""
}

// dataHint returns what to do about a message or a request that is refused.
func dataHint(err error) string {
	var request *RequestError
	var problem *api.Problem
	switch {
	case errors.Is(err, signature.ErrNoHeader):
		return "name folders of mail only; --force accepts such files, too"
	case errors.Is(err, mailbox.ErrEmpty):
		return ""
	case errors.As(err, &request):
		return request.Unknown
	case errors.As(err, &problem) && strings.HasPrefix(problem.Detail, "revoked too often"):
		return "another reporter may, and an administrator can decide: spambloom settle"
	case errors.As(err, &problem) && strings.Contains(problem.Detail, bloomdb.ErrContested.Error()):
		return ""
	case errors.As(err, &problem) && problem.Status == http.StatusConflict:
		return "an administrator of this site declared it; see spambloom never --list"
	}
	return "the message is too short to recognise; it needs at least a dozen different words, or an attachment of 1 KiB"
}

// CredentialsHint names the credentials that are missing or wrong, if a remote
// daemon and this client did not accept each other.
func CredentialsHint(err error) string {
	var problem *api.Problem
	switch {
	case errors.Is(err, client.ErrUntrusted):
		return "set SPAMBLOOM_CA to the file of the CA that signed the daemon's certificate"
	case errors.As(err, &problem) && problem.Status == http.StatusUnauthorized:
		return "set SPAMBLOOM_TOKEN or SPAMBLOOM_TOKEN_FILE, or SPAMBLOOM_CERT and SPAMBLOOM_KEY; see spambloom token --help"
	}
	return ""
}

// failureHint returns what to do when a disk or the daemon fails. A request that the daemon refused had no effect.
// The outcome of one that is not answered, or of which the disk did not take a part, is unknown.
func failureHint(err error) string {
	again, nothing := "reporting a message twice", "nothing of this message was accepted"
	var request *RequestError
	if errors.As(err, &request) && request.IsSetting {
		again, nothing = "doing it twice", "nothing was changed"
	}
	var problem *api.Problem
	switch {
	case !errors.As(err, &problem):
		return "run it again; " + again + " does no harm"
	case problem.Status == http.StatusInternalServerError && strings.Contains(problem.Detail, "--repair"):
		return nothing
	case problem.Status == http.StatusInternalServerError:
		return "free space on the disk of the daemon's state folder and run it again; a part may be in effect, and " + again + " does no harm"
	}
	return "run it again later; " + nothing
}
