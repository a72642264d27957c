package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/mailbox"
	"github.com/spambloom/spambloom/cmd/internal/queue"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// Exit codes, as in sysexits.h.
const (
	exUsage       = 64
	exData        = 65
	exNoInput     = 66
	exUnavailable = 69
	exCantCreate  = 73
	exIOErr       = 74
	exTempFail    = 75
	exProtocol    = 76
	exNoPerm      = 77
	exInterrupted = 130 // as shells report SIGINT
)

// The exit codes in the verbs' help. Each verb lists the errors that it can meet.
const (
	usageCode = `
  64  wrong usage`
	emptyCode = `
  65  a message of 0 bytes`
	littleCode  = emptyCode + `, or with too little content to sign`
	declareCode = littleCode + `, or a file that
      is no e-mail message`
	reportCode = declareCode + `, or a message on the never-list;
      with --attached also: no message is attached, or a feedback report is not
      about spam or lacks the message`
	inputCode = `
  66  a file that cannot be read, or a folder without messages`
	outputCode = `
  74  the results cannot be written`
	createCode = `
  73  the plot cannot be written`
	stateCode = outputCode + `, or the temporary files`
	siteCode  = `
  65  the site is unknown, or it is this site itself`
	daemonCodes = `
  69  no daemon answers` + outputCode + `, or the daemon's disk failed
  75  the daemon cannot do it now; try again later
  76  the daemon has another version, or another program answered
  77  no permission`
	sendCodes = `
  69  no daemon answers` + outputCode + `, the daemon's disk failed, or the
      queue cannot be written
  75  the queue is full, or the daemon cannot do it now
  76  the daemon has another version, or another program answered
  77  no permission
  130 interrupted by SIGINT between two messages; a hint shows how to resume
69, and the daemon's 74 and 75, occur only if queueing fails or --no-queue is given.`
	stopsAt = `
The exit code is that of the first failure. After 69 to 77 the command stops;
otherwise it continues.`
	continues = `
The exit code is that of the first failure; the other messages are processed.`

	questionCodes = usageCode + emptyCode + inputCode + daemonCodes + stopsAt
	reportCodes   = usageCode + reportCode + inputCode + sendCodes + stopsAt
	declareCodes  = usageCode + declareCode + inputCode + daemonCodes + stopsAt
	changeCodes   = usageCode + littleCode + inputCode + daemonCodes + stopsAt
	signCodes     = usageCode + littleCode + inputCode + outputCode + continues
	replayCodes   = usageCode + emptyCode + inputCode + createCode + stateCode + continues
	statusCodes   = usageCode + daemonCodes
	siteCodes     = usageCode + siteCode + daemonCodes
)

// verdictExit is an exit code that is not an error, such as that of `check`.
type verdictExit int

func (v verdictExit) Error() string { return fmt.Sprintf("exit %d", int(v)) }

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

var errNoCommand = errors.New("no command given")

// printedError is an error that was printed to stderr already.
type printedError struct{ error }

func (e *printedError) Unwrap() error { return e.error }

// stoppedError is an error that every message would meet. It stopped the work at
// one of several messages.
type stoppedError struct {
	error
	name  string // the message at which the work stopped
	count int    // messages before it that are done
	done  string // what was done with them: accepted, checked

	before int // messages before it, including those that failed on their own
	skip   int // --skip that resumes at this message; 0: from the first, or no such flag
}

func (e *stoppedError) Unwrap() error { return e.error }

// rest describes what is left to do. Some messages after the failed one may have
// been processed in parallel; their outcome is unknown.
func (e *stoppedError) rest() string {
	again := "run it again"
	if e.skip > 0 {
		again = fmt.Sprintf("run it again with --skip %d", e.skip)
	}
	return fmt.Sprintf("stopped at %s: %d %s; %s for this message and the rest", e.name, e.count, e.done, again)
}

// outputError is a failure to write a result.
type outputError struct{ error }

func (e *outputError) Unwrap() error { return e.error }

// createError is a failure to write a file of results.
type createError struct{ error }

func (e *createError) Unwrap() error { return e.error }

// stateError is a failure of a replay's databases.
type stateError struct{ error }

func (e *stateError) Unwrap() error { return e.error }

// exitCode returns the exit code of an error. No other function maps errors to codes.
func exitCode(err error) int {
	var verdict verdictExit
	var usage *usageError
	var output *outputError
	var create *createError
	var key *keyError
	var state *stateError
	var damaged *backupError
	var problem *api.Problem
	var unflushed *unflushedError
	var queued *queueError
	var feedback *feedbackError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &verdict):
		return int(verdict)
	case errors.Is(err, queue.ErrFull), errors.As(err, &unflushed):
		return exTempFail
	case errors.As(err, &usage):
		return exUsage
	case errors.As(err, &output), errors.As(err, &state), errors.Is(err, errDamagedState):
		return exIOErr
	case errors.As(err, &create):
		return exCantCreate
	case errors.As(err, &key), errors.Is(err, mailbox.ErrEmpty), errors.Is(err, errNotAttached), errors.Is(err, errHeaderOnly), errors.As(err, &feedback), errors.Is(err, bloomdb.ErrNothing), errors.Is(err, signature.ErrNoHeader):
		return exData
	case errors.As(err, &damaged):
		return exData
	case errors.As(err, &problem):
		return problemCode(problem.Status)
	case errors.Is(err, client.ErrProtocol):
		return exProtocol
	case errors.Is(err, client.ErrUnavailable) && errors.Is(err, fs.ErrPermission), errors.Is(err, client.ErrUntrusted):
		return exNoPerm
	case errors.Is(err, client.ErrUnavailable):
		return exUnavailable
	case errors.As(err, &queued):
		return exIOErr
	}
	var input *inputError
	if errors.As(err, &input) {
		return exNoInput
	}
	return exTempFail // the connection broke: the daemon is stopping, or stuck
}

// problemCode maps a status of the control API to an exit code.
func problemCode(status int) int {
	switch status {
	case http.StatusUnprocessableEntity, http.StatusConflict:
		return exData
	case http.StatusForbidden, http.StatusUnauthorized:
		return exNoPerm
	case http.StatusServiceUnavailable, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return exTempFail
	case http.StatusInternalServerError:
		return exIOErr
	}
	return exProtocol
}

// hint returns what to do about a frequent mistake, or an empty string.
func hint(err error) string {
	var problem *api.Problem
	switch exitCode(err) {
	case exUsage:
		return "see spambloom --help, or spambloom COMMAND --help"
	case exData:
		var damaged *backupError
		if errors.As(err, &damaged) {
			return "nothing was written; spambloom fsck checks the daemon's own files"
		}
		var key *keyError
		var feedback *feedbackError
		switch {
		case errors.Is(err, errNoSpam):
			return "use spambloom revoke --attached"
		case errors.Is(err, errHeaderOnly), errors.As(err, &feedback):
			return ""
		case errors.Is(err, signature.ErrNoHeader):
			return "name folders of mail only; --force accepts such files, too"
		}
		if errors.Is(err, mailbox.ErrEmpty) || errors.As(err, &key) {
			return ""
		}
		if errors.Is(err, errNotAttached) {
			return "forward the message as an attachment, so that it arrives unchanged"
		}
		var id *idError
		if errors.As(err, &id) {
			return "only mail that was reported here or judged lately is known by its id; use the message itself"
		}
		var site *siteError
		if errors.As(err, &site) {
			return "spambloom sites lists the known sites"
		}
		var reporter *reporterError
		if errors.As(err, &reporter) {
			return "spambloom reporters lists the known reporters"
		}
		if errors.As(err, &problem) && strings.HasPrefix(problem.Detail, "revoked too often") {
			return "others may revoke it, and an administrator can decide: spambloom settle"
		}
		if errors.As(err, &problem) && problem.Status == http.StatusConflict {
			return "an administrator of this site declared it; see spambloom never --list"
		}
		return "the message is too short to recognise; it needs at least a dozen different words, or an attachment of 1 KiB"
	case exCantCreate:
		if errors.Is(err, fs.ErrExist) {
			return "a key is never replaced; spambloom keygen --public FILE shows the public half of a site's key"
		}
	case exUnavailable:
		return "start spambloomd, or name its socket with --control unix:PATH or SPAMBLOOM_CONTROL"
	case exIOErr, exTempFail:
		return failureHint(err)
	case exNoPerm:
		switch h := credentialsHint(err); {
		case h != "":
			return h
		case errors.As(err, &problem):
			return "members of [control] group may report, and delegates may report for others; everything else needs root or the daemon's user"
		}
		return "only the daemon's user and the group named in [control] may use the control socket (a new group takes effect at the next login)"
	case exProtocol:
		return "compare spambloom version with spambloom status"
	}
	return ""
}

// credentialsHint names the credentials that are missing or wrong, if a remote
// daemon and this client did not accept each other.
func credentialsHint(err error) string {
	var problem *api.Problem
	switch {
	case errors.Is(err, client.ErrUntrusted):
		return "set SPAMBLOOM_CA to the file of the CA that signed the daemon's certificate"
	case errors.As(err, &problem) && problem.Status == http.StatusUnauthorized:
		return "set SPAMBLOOM_TOKEN or SPAMBLOOM_TOKEN_FILE, or SPAMBLOOM_CERT and SPAMBLOOM_KEY; see spambloom token --help"
	}
	return ""
}

// failureHint returns what to do when a disk or the daemon fails. A request that the
// daemon refused had no effect; the outcome of an unanswered request is unknown.
func failureHint(err error) string {
	var output *outputError
	var state *stateError
	var problem *api.Problem
	var site *siteError
	var unflushed *unflushedError
	var queued *queueError
	if errors.Is(err, errDamagedState) {
		return "the daemon continues from memory; stop it, then restore the state folder from a backup, or move damaged files away as spambloomd suggests at its start"
	}
	again, nothing := "reporting a message twice", "nothing of this message was accepted"
	var reporter *reporterError
	if errors.As(err, &site) || errors.As(err, &reporter) {
		again, nothing = "doing it twice", "nothing was changed"
	}
	switch {
	case errors.As(err, &unflushed):
		return cmp.Or(credentialsHint(err), "queued reports are kept; run it again later")
	case errors.Is(err, queue.ErrFull):
		return "once the daemon accepts reports again, deliver the queue with spambloom flush"
	case errors.As(err, &queued):
		return "set SPAMBLOOM_QUEUE to another folder for the queue"
	case errors.As(err, &state):
		return "free space in the folder for temporary files, or set TMPDIR to another one"
	case errors.As(err, &output):
		return "standard output cannot be written; check whether its disk is full"
	case !errors.As(err, &problem):
		return "run it again; " + again + " does no harm"
	case problem.Status == http.StatusInternalServerError:
		return "free space on the disk of the daemon's state folder; " + nothing
	}
	return "run it again later; " + nothing
}
