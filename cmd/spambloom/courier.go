package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spambloom/spambloom/cmd/internal/queue"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// promptly bounds what a report waits for the daemon where it can be queued instead:
// Dovecot, for one, kills a program after ten seconds.
const promptly = 4 * time.Second

// queueError is a report that neither the daemon took nor the queue.
type queueError struct{ error }

func (e *queueError) Unwrap() error { return e.error }

// courier brings reports and revocations to the daemon, or lets them wait in the
// queue: in order, so that once one waits, those after it do.
type courier struct {
	c        *cli
	verb     string
	reporter string
	queue    *queue.Queue // nil: --no-queue
	daemon   *client.Client

	mu   sync.Mutex
	why  error // set: messages are queued, for this
	busy bool  // another process was delivering
}

// newCourier connects to the daemon, once it has handed over what waits.
func (c *cli) newCourier(ctx context.Context, verb string, flags reportFlags) (*courier, error) {
	k := &courier{c: c, verb: verb, reporter: flags.reporter}
	if !flags.noQueue {
		if err := k.openQueue(ctx); err != nil {
			return nil, err
		}
	}
	daemon, err := c.dial()
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

// openQueue delivers what waits. A queue that is out of order holds no report up
// which the daemon takes.
func (k *courier) openQueue(ctx context.Context) error {
	dir, err := queueFolder()
	if err != nil {
		return err
	}
	k.queue = queue.New(dir, queue.Options{})
	w, err := k.queue.Waiting()
	if err != nil || w.Count == 0 {
		return k.warn(err)
	}
	ctx, cancel := context.WithTimeout(ctx, promptly)
	defer cancel()
	f, err := k.c.deliver(ctx, k.queue, "") // err is a warning, further down
	if err := k.c.sayDelivered(f); err != nil {
		return err
	}
	if control, err := k.c.controlSpec(); err != nil {
		return err
	} else if behind, _ := k.queue.Behind(control, k.reporter); behind {
		k.why = cmp.Or(f.why, errBehind)
	}
	k.busy = errors.Is(err, queue.ErrBusy)
	return k.warn(err)
}

// after delivers once more where another process was at it, which may have ended just
// before something was added.
func (k *courier) after(ctx context.Context) error {
	if !k.busy {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, promptly)
	defer cancel()
	f, err := k.c.deliver(ctx, k.queue, "") // err is a warning
	if err := k.c.sayDelivered(f); err != nil {
		return err
	}
	return k.warn(err)
}

var errBehind = errors.New("others wait before it")

func (k *courier) warn(err error) error {
	if err != nil && !errors.Is(err, queue.ErrBusy) {
		k.c.tell("warning", err.Error())
	}
	return nil
}

func (k *courier) close() {
	if k.daemon != nil {
		k.daemon.Close()
	}
}

// carry gives a request to the daemon. Where the daemon does not take it now, it
// waits in the queue, for the reason queued.
func (k *courier) carry(ctx context.Context, r api.Request) (receipt api.Receipt, queued, err error) {
	if why := k.waits(); why != nil {
		return receipt, why, k.add(r, why)
	}
	asked := ctx
	if k.queue != nil {
		var cancel context.CancelFunc
		asked, cancel = context.WithTimeout(ctx, promptly)
		defer cancel()
	}
	receipt, err = tell(asked, k.daemon, k.verb, named(r, k.c.spec()))
	if err == nil || k.queue == nil || !isAway(err) || ctx.Err() != nil {
		return receipt, nil, err
	}
	if asked.Err() != nil {
		err = fmt.Errorf("the daemon has not answered within %v", promptly)
	}
	k.mu.Lock()
	k.why = err
	k.mu.Unlock()
	return receipt, err, k.add(r, err)
}

func (k *courier) waits() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.why
}

// add queues a request; why is what the daemon said, or that none is there.
func (k *courier) add(r api.Request, why error) error {
	control, err := k.c.controlSpec()
	if err == nil {
		err = k.queue.Add(queue.Entry{At: time.Now(), Verb: k.verb, Control: control, Request: r})
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, queue.ErrFull):
		return &queueError{fmt.Errorf("%w; %w", why, err)}
	}
	return &queueError{fmt.Errorf("%w; and it cannot be queued: %v", why, err)}
}

// done is what became of messages without an error.
func (k *courier) done() string {
	if k.queue == nil {
		return "accepted"
	}
	return "accepted or queued"
}

// controlSpec is the control socket that is named, as it is named from everywhere;
// empty where none is.
func (c *cli) controlSpec() (string, error) {
	spec := c.spec()
	path, ok := strings.CutPrefix(spec, "unix:")
	if !ok || filepath.IsAbs(path) {
		return spec, nil
	}
	path, err := filepath.Abs(path)
	return "unix:" + path, err
}

// tell does a verb.
func tell(ctx context.Context, daemon *client.Client, verb string, r api.Request) (api.Receipt, error) {
	if verb == "revoke" {
		return client.Post(ctx, daemon, v1.Revoke, r)
	}
	return client.Post(ctx, daemon, v1.Report, r)
}

// isAway tells an error that will be over, by itself or by an administrator, from
// one that would come again: nobody answers, the connection broke, the daemon has no
// room, or not for this reporter now.
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
	var usage *usageError
	return !errors.As(err, &usage) && !errors.Is(err, fs.ErrPermission)
}

// isRefusal tells that the daemon will never take a request.
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
