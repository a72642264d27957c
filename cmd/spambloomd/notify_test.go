package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// On SIGTERM, a start waits some seconds for the state folder, to close it in order. Then it ends, however long the disk
// takes.
func TestStopWhileOpening(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	for _, c := range []struct {
		name     string
		open     time.Duration
		openErr  error
		stopped  time.Duration // 0: never
		want     error
		returned time.Duration
	}{
		{"no signal", 40 * time.Minute, nil, 0, nil, 40 * time.Minute},
		{"a damaged file", time.Second, fs.ErrInvalid, 0, fs.ErrInvalid, time.Second},
		{"a signal in a fast start", 3 * time.Second, nil, time.Second, nil, 3 * time.Second},
		{"a signal in a slow start", 40 * time.Minute, nil, time.Second, errStopped, time.Second + stopStep},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.stopped > 0 {
				time.AfterFunc(c.stopped, cancel)
			}
			begun := time.Now()
			v := supervisor{log: slog.New(slog.DiscardHandler)}
			err := v.opening(ctx, func() error {
				time.Sleep(c.open)
				return c.openErr
			})
			if took := time.Since(begun); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || took != c.returned {
				t.Errorf("%s: %v after %v, want %v after %v", c.name, err, took, c.want, c.returned)
			}
			time.Sleep(c.open) // the goroutine of open ends
		})
	}
}
