package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/trap"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/signature"
)

// newTraps creates the traps of the configuration, which report at the desk. The milter
// signs for them, because it bounds the memory for signing.
func (d *service) newTraps() {
	d.traps = make(map[string]*trap.Trap)
	d.reloadLimit(d.started)
	turn := new(sync.Mutex)
	for _, t := range d.started.Traps {
		class, err := bloomdb.ParseClass(t.Class)
		if err != nil {
			panic(err) // the table of keys allows the names of classes only
		}
		report := func(set signature.Set) error {
			_, err := d.desk.Report(desk.Report{Set: set, Reporter: desk.TrapReporter(t.Name), Class: class, Trap: true})
			return err
		}
		d.traps[t.Name] = trap.New(trap.Options{
			Maildir:    t.Maildir,
			MaxMessage: d.maxMessage.Load, // the part of copies that the milter keeps
			Turn:       turn,
			Log:        d.log.With("trap", t.Name),
			Take: func(_ context.Context, raw []byte, most int64, isCut bool) error {
				return reportTrapped(raw, most, isCut, d.milter.Sign, report)
			},
		})
	}
}

// reloadLimit gives the traps and the page the milter's message limit: a report of a longer or
// shorter part might not match its copies.
func (d *service) reloadLimit(s *settings.Settings) {
	d.maxMessage.Store(s.Milter.MaxMessage)
	d.doorMemory.Store(s.DoorMemory())
}

// reportTrapped signs and reports a message. The message was not examined before, so a
// panic costs only this one.
func reportTrapped(raw []byte, most int64, isCut bool, sign func(signature.Message) signature.Set, report func(signature.Set) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: panic: %s\n%s", trap.ErrRefused, panicText(v), debug.Stack())
		}
	}()
	m, _ := signature.ParseWithin(raw, most)
	m.Truncated = m.Truncated || isCut
	set := sign(m)
	err = bloomdb.ErrNothing
	if len(set.Signatures) > 0 {
		err = report(set)
	}
	for _, ofMessage := range []error{bloomdb.ErrNothing, bloomdb.ErrNever, bloomdb.ErrContested, desk.ErrRevokedOften, signature.ErrNoHeader} {
		if errors.Is(err, ofMessage) {
			return fmt.Errorf("%w: %w", trap.ErrRefused, err)
		}
	}
	return err
}

// panicText returns the part of a panic that may be logged. A value not made by the runtime
// may contain the message, so only its type is logged.
func panicText(v any) string {
	if err, ok := v.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a %T", v)
}

// trapStatus returns the status of each trap; nil: there are none.
func (d *service) trapStatus() map[string]trap.Status {
	if len(d.traps) == 0 {
		return nil
	}
	status := make(map[string]trap.Status, len(d.traps))
	for name, t := range d.traps {
		status[name] = t.Status()
	}
	return status
}

// trapCollector exports the status of the traps to Prometheus.
type trapCollector struct{ status func() map[string]trap.Status }

var (
	trapMessages = prometheus.NewDesc("spambloom_trap_messages_total", "Messages of a spam trap that were reported (taken), or moved without a report (refused).", []string{"trap", "result"}, nil)
	trapWaiting  = prometheus.NewDesc("spambloom_trap_waiting", "Messages waiting in a spam trap.", []string{"trap"}, nil)
	trapFault    = prometheus.NewDesc("spambloom_trap_fault", "1 while the mail of a spam trap cannot be processed.", []string{"trap"}, nil)
)

func (trapCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- trapMessages
	ch <- trapWaiting
	ch <- trapFault
}

func (c trapCollector) Collect(ch chan<- prometheus.Metric) {
	for name, s := range c.status() {
		fault := 0.0
		if s.Fault != "" {
			fault = 1
		}
		ch <- prometheus.MustNewConstMetric(trapMessages, prometheus.CounterValue, float64(s.Taken), name, "taken")
		ch <- prometheus.MustNewConstMetric(trapMessages, prometheus.CounterValue, float64(s.Refused), name, "refused")
		ch <- prometheus.MustNewConstMetric(trapWaiting, prometheus.GaugeValue, float64(s.Waiting), name)
		ch <- prometheus.MustNewConstMetric(trapFault, prometheus.GaugeValue, fault, name)
	}
}
