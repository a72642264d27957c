package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/trap"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/signature"
)

// A sender of a contested message does not stop a trap when the period has no room for further
// changes of it: the ledger keeps the report. Nor does one of a message that users revoked. A full
// filter does, because all mail meets that.
func TestTrapRefusesContested(t *testing.T) {
	raw := []byte("Subject: contested\r\n\r\n" + harness.Text())
	for cause, refused := range map[error]bool{bloomdb.ErrContested: true, desk.ErrRevokedOften: true, bloomdb.ErrFull: false} {
		err := reportTrapped(raw, math.MaxInt64, false, signature.Compute, func(signature.Set) error { return fmt.Errorf("list: %w", cause) })
		if errors.Is(err, trap.ErrRefused) != refused || !errors.Is(err, cause) {
			t.Errorf("%v: %v", cause, err)
		}
	}
}

// A copy of which a trap has read the beginning only is not reported as if that were the message.
func TestTrapOfLongMessage(t *testing.T) {
	raw := []byte("Subject: long\r\n\r\n" + harness.Text())
	for _, isCut := range []bool{false, true} {
		err := reportTrapped(raw, math.MaxInt64, isCut, signature.Compute, func(signature.Set) error { return nil })
		if errors.Is(err, trap.ErrRefused) != isCut { // the end of its only text is missing
			t.Errorf("cut %v: %v", isCut, err)
		}
	}
}

// A panic caused by a trapped message may quote the message.
func TestTrapPanicTellsNoContent(t *testing.T) {
	raw := []byte("Subject: secret\r\n\r\n" + harness.Text())
	for want, report := range map[string]func(signature.Set) error{
		"panic: a string\n":                                       func(signature.Set) error { panic("secret") },
		"panic: a *errors.errorString\n":                          func(signature.Set) error { panic(errors.New("secret")) },
		"panic: runtime error: slice bounds out of range [9:0]\n": func(set signature.Set) error { _ = set.Signatures[:0:0][9:]; return nil },
	} {
		err := reportTrapped(raw, math.MaxInt64, false, signature.Compute, report)
		if !errors.Is(err, trap.ErrRefused) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A trap on a disk that hangs does not keep a stop from going on: the stop waits for it as for requests.
func TestStopLeavesAHangingTrap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &service{log: slog.New(slog.DiscardHandler)}
		var traps sync.WaitGroup
		traps.Add(1)
		begin := time.Now()
		d.shutdown(t.Context(), time.Minute, shutdowns{"traps": ended(&traps)})
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("the stop waited for %v", took)
		}
		traps.Done()
	})
}
