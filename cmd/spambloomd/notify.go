package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

const (
	// stopStep is between two notices of a stop that goes on.
	stopStep = 5 * time.Second
	// stopMargin is how long systemd waits for the next of them: a machine under
	// load is late.
	stopMargin = 6 * stopStep
	// closing bounds what comes after the time of grace: snapshots are written.
	// Past it TimeoutStopSec= decides again, so that a disk that hangs does not
	// hold up the stop for ever.
	closing = 5 * time.Minute
)

// supervisor is systemd, which is told how the daemon is, where it started us:
// see sd_notify(3). STATUS= is what `systemctl status` shows. The methods but
// close may be called by several goroutines.
type supervisor struct {
	log    *slog.Logger
	end    context.CancelFunc // of asking; nil: no stop has begun
	asking sync.WaitGroup
}

func (v *supervisor) tell(lines ...string) {
	if _, err := daemon.SdNotify(false, strings.Join(lines, "\n")); err != nil {
		v.log.Warn("systemd was not told", "state", lines, "error", err)
	}
}

func (v *supervisor) ready(status string) {
	v.tell(daemon.SdNotifyReady, "STATUS="+status)
}

// reloading has the time, by which systemd tells one reload from another
// (Type=notify-reload). ready ends it.
func (v *supervisor) reloading() {
	v.tell(daemon.SdNotifyReloading, daemon.SdNotifyMonotonicUsec(), "STATUS=Reloading the configuration")
}

// stopping asks for the time that the stop takes, beyond TimeoutStopSec= where
// need be, until close.
func (v *supervisor) stopping(grace time.Duration) {
	v.tell(daemon.SdNotifyStopping, fmt.Sprintf("STATUS=Finishing the messages in flight, for at most %v", grace))
	ctx, end := context.WithTimeout(context.Background(), grace+closing)
	v.end = end
	v.asking.Go(func() {
		tick := time.NewTicker(stopStep)
		defer tick.Stop()
		for {
			v.tell(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", stopMargin.Microseconds()))
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// close is the last of the daemon.
func (v *supervisor) close() {
	if v.end != nil {
		v.end()
		v.asking.Wait()
	}
}
