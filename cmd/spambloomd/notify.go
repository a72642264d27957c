package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

const (
	// stopStep is the interval between two notices of a start or a stop in progress.
	stopStep = 5 * time.Second
	// stopMargin is how long systemd waits for the next notice, which is late on a busy
	// machine.
	stopMargin = 6 * stopStep
	// closing bounds the time after the grace period, in which snapshots are written. After
	// it TimeoutStopSec= applies again, so that a hanging disk does not delay the stop
	// forever.
	closing = 5 * time.Minute
)

// supervisor reports the daemon's state to systemd if systemd started it; see sd_notify(3).
// `systemctl status` shows STATUS=. All methods except close are safe for concurrent use.
type supervisor struct {
	log    *slog.Logger
	end    context.CancelFunc // of the notices; nil: no stop has begun
	asking sync.WaitGroup
}

func (v *supervisor) tell(lines ...string) {
	if _, err := daemon.SdNotify(false, strings.Join(lines, "\n")); err != nil {
		v.log.Warn("systemd was not notified", "state", lines, "error", err)
	}
}

// moreTime requests more time for a start or a stop.
var moreTime = fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", stopMargin.Microseconds())

// errStopped is the error of a start that a signal ended.
var errStopped = errors.New("stopped before the state folder was open")

// opening requests more time for the start, beyond TimeoutStartSec= if necessary, while open runs: on a slow
// disk a large ledger takes minutes. It returns the error of open. If ctx ends, and open has not returned
// stopStep later, opening returns errStopped. open then ends with the process, like after a kill: nothing that
// was acknowledged is lost.
func (v *supervisor) opening(ctx context.Context, open func() error) error {
	v.tell("STATUS=Opening the state folder and its ledger of reports")
	opened := make(chan error, 1)
	go func() { opened <- open() }()
	tick := time.NewTicker(stopStep)
	defer tick.Stop()
	stop, late := ctx.Done(), (<-chan time.Time)(nil)
	for {
		v.tell(moreTime)
		select {
		case err := <-opened:
			return err
		case <-stop:
			stop, late = nil, time.After(stopStep)
		case <-late:
			return errStopped
		case <-tick.C:
		}
	}
}

// listing is the part of opening in which the reports of the ledger are listed again.
func (v *supervisor) listing() {
	v.tell("STATUS=Listing reports under the new federation key", moreTime)
}

func (v *supervisor) ready(status string) {
	v.tell(daemon.SdNotifyReady, "STATUS="+status)
}

// reloading reports the start of a reload. It includes the time, by which systemd
// distinguishes reloads (Type=notify-reload). ready ends it.
func (v *supervisor) reloading() {
	v.tell(daemon.SdNotifyReloading, daemon.SdNotifyMonotonicUsec(), "STATUS=Reloading the configuration")
}

// stopping requests the time for the stop, beyond TimeoutStopSec= if necessary, until
// close.
func (v *supervisor) stopping(grace time.Duration) {
	v.tell(daemon.SdNotifyStopping, fmt.Sprintf("STATUS=Finishing the messages in flight, for at most %v", grace))
	ctx, end := context.WithTimeout(context.Background(), grace+closing)
	v.end = end
	v.asking.Go(func() {
		tick := time.NewTicker(stopStep)
		defer tick.Stop()
		for {
			v.tell(moreTime)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// close is the daemon's last action.
func (v *supervisor) close() {
	if v.end != nil {
		v.end()
		v.asking.Wait()
	}
}
