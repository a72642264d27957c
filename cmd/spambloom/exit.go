package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/mailbox"
	"github.com/spambloom/spambloom/cmd/internal/queue"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/client"
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
	exInterrupted = 130 // as shells say it of SIGINT
)

// The parts of the verbs' help that tell errors apart: each verb has those that
// it can meet.
const (
	usageCode = `
  64  wrong usage`
	emptyCode = `
  65  a message of 0 bytes`
	littleCode = emptyCode + `, or with too little content to sign`
	reportCode = littleCode + `, or on the never-list,
      or with no message attached where --attached is given, or a feedback
      report that is none of spam, or without the message`
	inputCode = `
  66  a file that cannot be read, or a folder without messages`
	outputCode = `
  74  the results cannot be written`
	createCode = `
  73  the plot cannot be written`
	stateCode = outputCode + `, or the temporary files`
	siteCode  = `
  65  there is no such site, or it is this one`
	daemonCodes = `
  69  no daemon answers` + outputCode + `, or the daemon's disk failed
  75  the daemon cannot do it now; try again later
  76  the daemon is of another version, or none of ours
  77  no permission`
	sendCodes = `
  69  no daemon answers` + outputCode + `, the daemon's disk failed, or the
      queue cannot be written
  75  the queue is full; or the daemon cannot do it now
  76  the daemon is of another version, or none of ours
  77  no permission
  130 interrupted, by SIGINT, between two messages; it says where to go on
69, and 74 and 75 of the daemon, come where nothing can be queued, or --no-queue is given.`
	firstDecides = `
Of several messages that failed, the first one decides, and the others are done`
	daemonEnds = `;
69 to 77 end the work.`

	questionCodes = usageCode + emptyCode + inputCode + daemonCodes + firstDecides + daemonEnds
	reportCodes   = usageCode + reportCode + inputCode + sendCodes + firstDecides + daemonEnds
	changeCodes   = usageCode + littleCode + inputCode + daemonCodes + firstDecides + daemonEnds
	signCodes     = usageCode + littleCode + inputCode + outputCode + firstDecides + `.`
	replayCodes   = usageCode + emptyCode + inputCode + createCode + stateCode + firstDecides + `.`
	statusCodes   = usageCode + daemonCodes
	siteCodes     = usageCode + siteCode + daemonCodes
)

// verdictExit ends `check` with a code that is no error.
type verdictExit int

func (v verdictExit) Error() string { return fmt.Sprintf("exit %d", int(v)) }

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

var errNoCommand = errors.New("no command given")

// toldError is an error that is on stderr already.
type toldError struct{ error }

func (e *toldError) Unwrap() error { return e.error }

// stoppedError is an error that all messages would meet, at one of several.
type stoppedError struct {
	error
	name  string // the message that met it
	count int    // of the messages before it that are done
	done  string // what that is: accepted, checked

	before int // messages before it, with those that failed by themselves
	skip   int // what --skip leaves out to go on at it; 0: nothing, or there is no such flag
}

func (e *stoppedError) Unwrap() error { return e.error }

// rest says what is left to do. Of the messages after the one that failed some
// were in work, of which nobody knows.
func (e *stoppedError) rest() string {
	again := "run it again"
	if e.skip > 0 {
		again = fmt.Sprintf("run it again with --skip %d", e.skip)
	}
	return fmt.Sprintf("stopped at %s: %d %s; %s for this one and those after it", e.name, e.count, e.done, again)
}

// outputError is a failure to write a result.
type outputError struct{ error }

func (e *outputError) Unwrap() error { return e.error }

// createError is a file for results that cannot be written.
type createError struct{ error }

func (e *createError) Unwrap() error { return e.error }

// stateError is a failure of the databases of a replay.
type stateError struct{ error }

func (e *stateError) Unwrap() error { return e.error }

// exitCode is the one place where errors become exit codes.
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
	case errors.As(err, &key), errors.Is(err, mailbox.ErrEmpty), errors.Is(err, errNotAttached), errors.Is(err, errHeaderOnly), errors.As(err, &feedback), errors.Is(err, bloomdb.ErrNothing):
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

// problemCode maps the statuses of the control API.
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

// hint says what to do about the mistakes that are easily made.
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
			return "spambloom revoke --attached takes it"
		case errors.Is(err, errHeaderOnly), errors.As(err, &feedback):
			return ""
		}
		if errors.Is(err, mailbox.ErrEmpty) || errors.As(err, &key) {
			return ""
		}
		if errors.Is(err, errNotAttached) {
			return "forward the message as attachment, so that it arrives as it was"
		}
		var site *siteError
		if errors.As(err, &site) {
			return "spambloom sites lists the others"
		}
		var reporter *reporterError
		if errors.As(err, &reporter) {
			return "spambloom reporters lists them"
		}
		if errors.As(err, &problem) && problem.Status == http.StatusConflict {
			return "an administrator of this site declared it; see spambloom never --list"
		}
		return "too short to recognise: it needs at least a dozen different words, or an attachment of 1 KiB"
	case exCantCreate:
		if errors.Is(err, fs.ErrExist) {
			return "a key is never replaced; spambloom keygen --public FILE shows the public half of a site's key"
		}
	case exUnavailable:
		return "start spambloomd, or name its socket with --control unix:PATH or SPAMBLOOM_CONTROL"
	case exIOErr, exTempFail:
		return trouble(err)
	case exNoPerm:
		switch h := strangers(err); {
		case h != "":
			return h
		case errors.As(err, &problem):
			return "members of [control] group may report, and its delegates speak for others; the rest is for root and the daemon's user"
		}
		return "the control socket is open to the daemon's user and to the group that [control] names; run as one of these (a new group counts from the next login on)"
	case exProtocol:
		return "compare spambloom version with spambloom status"
	}
	return ""
}

// strangers says what a client and a daemon on another machine know each other by,
// where that is what failed.
func strangers(err error) string {
	var problem *api.Problem
	switch {
	case errors.Is(err, client.ErrUntrusted):
		return "SPAMBLOOM_CA names the file of the CA that signed the daemon's certificate"
	case errors.As(err, &problem) && problem.Status == http.StatusUnauthorized:
		return "SPAMBLOOM_TOKEN or SPAMBLOOM_TOKEN_FILE, or SPAMBLOOM_CERT and SPAMBLOOM_KEY, are what lets a client in; see spambloom token --help"
	}
	return ""
}

// trouble says what to do about a disk or a daemon in trouble. What the daemon
// has refused left no trace; of what it has not answered nobody knows.
func trouble(err error) string {
	var output *outputError
	var state *stateError
	var problem *api.Problem
	var site *siteError
	var unflushed *unflushedError
	var queued *queueError
	if errors.Is(err, errDamagedState) {
		return "the daemon goes on with what it has in memory; stop it, and restore the state folder from a backup, or move away what is damaged as spambloomd says at its start"
	}
	again, nothing := "report a message twice", "nothing of this message was accepted"
	var reporter *reporterError
	if errors.As(err, &site) || errors.As(err, &reporter) {
		again, nothing = "do it twice", "nothing was changed"
	}
	switch {
	case errors.As(err, &unflushed):
		return cmp.Or(strangers(err), "what waits is kept; run it again later")
	case errors.Is(err, queue.ErrFull):
		return "deliver what waits with spambloom flush, once the daemon takes it"
	case errors.As(err, &queued):
		return "SPAMBLOOM_QUEUE names another folder for what waits"
	case errors.As(err, &state):
		return "is there room in the folder for temporary files? TMPDIR names another one"
	case errors.As(err, &output):
		return "results cannot be written; is the disk behind standard output full?"
	case !errors.As(err, &problem):
		return "run it again; it does no harm to " + again
	case problem.Status == http.StatusInternalServerError:
		return "free space on the disk of the daemon's state folder; " + nothing
	}
	return "run it again later; " + nothing
}
