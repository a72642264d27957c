package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"github.com/spambloom/spambloom/cmd/internal/queue"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// answerTimeout bounds the wait for the daemon if a report can be queued instead.
// Dovecot, for example, kills a program after ten seconds.
const answerTimeout = 4 * time.Second

// queueHint is what to do if the queue cannot be read or written.
const queueHint = "set SPAMBLOOM_QUEUE to another folder for the queue"

// queueFault is the error of a report that neither the daemon nor the queue accepted. Why is
// the daemon's error, which decides the exit code.
func queueFault(why, err error) error {
	if errors.Is(err, queue.ErrFull) {
		return &verb.Fault{Code: verb.TempFail, Err: fmt.Errorf("%w; %w", why, err),
			Hint: "once the daemon accepts reports again, deliver the queue with spambloom flush"}
	}
	fault := &verb.Fault{Code: verb.IOErr, Err: fmt.Errorf("%w; the report cannot be queued: %v", why, err), Hint: queueHint}
	var problem *api.Problem
	switch {
	case errors.As(why, &problem):
		fault.Code = verb.Code(why)
	case errors.Is(why, client.ErrUnavailable):
		fault.Code, fault.Hint = verb.Unavailable, verb.Hint(why)
	}
	return fault
}

// courier delivers reports and revocations to the daemon, or queues them. It keeps
// their order: once one is queued, later ones are queued too.
type courier struct {
	c        *verb.CLI
	action   string
	reporter string
	queue    *queue.Queue // nil: --no-queue
	daemon   *client.Client

	mu   sync.Mutex
	why  error // why messages are queued; nil: they are not
	busy bool  // another process was delivering the queue
}

// newCourier delivers the queue, then connects to the daemon.
func newCourier(ctx context.Context, c *verb.CLI, action string, flags reportFlags) (*courier, error) {
	k := &courier{c: c, action: action, reporter: flags.reporter}
	if !flags.noQueue {
		if err := k.openQueue(ctx); err != nil {
			return nil, err
		}
	}
	daemon, err := c.Dial()
	switch {
	case err == nil:
		k.daemon = daemon
	case k.queue != nil && errors.Is(err, client.ErrUnavailable) && isAway(err):
		k.why = err
	default:
		return nil, err
	}
	return k, nil
}

// openQueue opens and delivers the queue. A queue that cannot be used is a warning only:
// the daemon may still accept the report.
func (k *courier) openQueue(ctx context.Context) error {
	dir, err := verb.QueueFolder()
	if err != nil {
		return err
	}
	k.queue = queue.New(dir, queue.Options{})
	w, err := k.queue.Waiting()
	if err != nil || w.Count == 0 {
		return k.warn(err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	f, err := deliver(ctx, k.c, k.queue, "") // err becomes a warning below
	if err := printDelivered(k.c, f); err != nil {
		return err
	}
	if control, err := k.c.AbsoluteSpec(); err != nil {
		return err
	} else if behind, _ := k.queue.Behind(control, k.reporter); behind {
		k.why = cmp.Or(f.why, errBehind)
	}
	k.busy = errors.Is(err, queue.ErrBusy)
	return k.warn(err)
}

// finish delivers the queue once more if another process was delivering it: that process
// may have finished before this one added its reports.
func (k *courier) finish(ctx context.Context) error {
	if !k.busy {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	f, err := deliver(ctx, k.c, k.queue, "") // err is a warning
	if err := printDelivered(k.c, f); err != nil {
		return err
	}
	return k.warn(err)
}

var errBehind = errors.New("earlier reports are still queued")

func (k *courier) warn(err error) error {
	if err != nil && !errors.Is(err, queue.ErrBusy) {
		k.c.Notify("warning", err.Error())
	}
	return nil
}

func (k *courier) close() {
	if k.daemon != nil {
		k.daemon.Close()
	}
}

// submit sends a request to the daemon. If the daemon cannot accept it now, the request
// is queued, and queued is the reason.
func (k *courier) submit(ctx context.Context, r api.Request) (receipt api.Receipt, queued, err error) {
	if why := k.queueing(); why != nil {
		return receipt, why, k.add(r, why)
	}
	asked := ctx
	if k.queue != nil {
		var cancel context.CancelFunc
		asked, cancel = context.WithTimeout(ctx, answerTimeout)
		defer cancel()
	}
	receipt, err = send(asked, k.daemon, k.action, withReporter(r, k.c.Spec()))
	if err == nil || k.queue == nil || !isAway(err) || ctx.Err() != nil {
		return receipt, nil, err
	}
	if asked.Err() != nil {
		err = fmt.Errorf("the daemon did not answer within %v", answerTimeout)
	}
	k.mu.Lock()
	k.why = err
	k.mu.Unlock()
	return receipt, err, k.add(r, err)
}

// queueing returns why requests are queued, or nil.
func (k *courier) queueing() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.why
}

// add queues a request; why is the daemon's error, or that none answered.
func (k *courier) add(r api.Request, why error) error {
	control, err := k.c.AbsoluteSpec()
	if err == nil {
		err = k.queue.Add(queue.Entry{At: time.Now(), Verb: k.action, Control: control, Request: r})
	}
	if err != nil {
		return queueFault(why, err)
	}
	return nil
}

// done names the outcome of messages without an error.
func (k *courier) done() string {
	if k.queue == nil {
		return "accepted"
	}
	return "accepted or queued"
}

// send sends a report or a revocation.
func send(ctx context.Context, daemon *client.Client, action string, r api.Request) (api.Receipt, error) {
	if action == "revoke" {
		return client.Post(ctx, daemon, v1.Revoke, r)
	}
	return client.Post(ctx, daemon, v1.Report, r)
}

// isAway reports whether an error is temporary, so that a later attempt may succeed:
// no daemon answers, the connection broke, or the daemon has no room, perhaps only
// for this reporter.
func isAway(err error) bool {
	var problem *api.Problem
	switch {
	case errors.As(err, &problem):
		switch problem.Status {
		case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusServiceUnavailable, http.StatusInternalServerError:
			return true
		}
		return false
	case errors.Is(err, client.ErrProtocol), errors.Is(err, client.ErrUntrusted):
		return false
	}
	return verb.Code(err) != verb.Usage && !errors.Is(err, fs.ErrPermission)
}

// isRefusal reports whether the daemon will never accept a request.
func isRefusal(err error) bool {
	var problem *api.Problem
	if !errors.As(err, &problem) {
		return false
	}
	switch problem.Status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}
