package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/presence"
	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/cmd/internal/trap"
	"github.com/spambloom/spambloom/cmd/internal/version"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/newest"
	"github.com/spambloom/spambloom/cmd/spambloomd/privacy"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/cmd/spambloomd/sockets"
	"github.com/spambloom/spambloom/cmd/spambloomd/state"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/spamd"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/history"
	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/reporting/page"
	"github.com/spambloom/spambloom/reporting/server"
)

// service is the running daemon.
type service struct {
	started    *settings.Settings // used to create the parts
	current    *settings.Settings // after the last reload; used only by run and its callees
	level      *slog.LevelVar
	pseudonyms *privacy.Pseudonyms
	log        *slog.Logger
	systemd    *supervisor

	listeners []string // names of the listeners for mail
	unserved  []string // addresses that were in use, see sockets.Sockets

	db           *bloomdb.DB
	desk         *desk.Desk
	judged       *judged.List
	reloadFault  atomic.Pointer[string]        // why the configuration file is not in use; nil: it is
	lately       lately                        // what needs somebody, for /metrics and /readyz
	unlisted     *judged.Hashes                // mail that matched no report
	listed       *judged.Hashes                // mail that matched one
	policy       atomic.Pointer[policy.Policy] // for the control API; the milter has its own copy
	milter       *milter.Server
	spamd        *spamd.Server // nil: none
	api          http.Handler  // the control API
	sessions     page.Sessions // of the page
	control      *http.Server
	door         *server.Door // of the control socket
	access       *server.Access
	remote       *server.Remote     // access from other machines; nil: none
	remoteServer *http.Server       // of remote; nil: none
	http         *http.Server       // nil: none
	exchange     *exchange.Exchange // nil: none
	previous     *exchange.Exchange // for the previous federation key; nil: none
	traps        map[string]*trap.Trap
	maxMessage   atomic.Int64        // that of the milter in force, for traps and the page. Unit: bytes
	doorMemory   atomic.Int64        // most memory of mail beside the milter's. Unit: bytes
	redis        *redisclient.Client // nil: none
	presence     *presence.Presence  // nil: none

	history    *history.History
	begun      time.Time // when the daemon was started, by the database's time
	mostMemory int64     // bytes; 0: unknown
	mostDisk   int64     // bytes; 0: unknown

	serving atomic.Bool // between start and stop, for /readyz

	ordinary sync.Once // for the warning about mail of an ordinary user over TCP
}

// serve runs the daemon. It returns after all parts have ended, nil if a signal ended it.
func serve(ctx context.Context, s *settings.Settings, stdout, stderr io.Writer) (err error) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)

	level, names := new(slog.LevelVar), new(privacy.Pseudonyms)
	log := s.Logger(stderr, level, names)
	log.LogAttrs(ctx, slog.LevelInfo, "config", append(s.Different(),
		slog.String("file", s.File), slog.String("state", s.Data), slog.String("site", s.Name), slog.String("version", version.String()))...)

	systemd := &supervisor{log: log}
	defer systemd.close()
	opened, err := openState(ctx, s, log, systemd)
	if errors.Is(err, errStopped) {
		log.Info("stopped", "reason", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	names.SetKey(opened.Options.SigningKey.Seed())
	s.WarnOfWhiteclnt(log)
	sockets, err := sockets.Listen(s, log)
	if err != nil {
		return err
	}
	defer sockets.Close()

	d := &service{
		started: s, current: s, level: level, pseudonyms: names, log: log, systemd: systemd, listeners: sockets.Names(), unserved: sockets.Unserved,
		db: opened.DB, judged: judged.New(opened.DB.Now(), judged.MaxMemory), unlisted: judged.NewHashes(judged.MaxUnlisted), listed: judged.NewHashes(judged.MaxListed),
	}
	atDesk := s.DeskOptions(log)
	atDesk.Judged, atDesk.Unlisted, atDesk.Listed = d.judged, d.unlisted, d.listed
	d.desk = desk.New(opened.DB, opened.Reports, atDesk)
	if err := d.assemble(sockets); err != nil {
		return err
	}
	greet(stdout, s, sockets.HTTP != nil)
	return d.run(ctx, hup, sockets)
}

// openState opens the state folder. It lists the reports of the ledger again if the database may
// lack them, before an exchange publishes it.
func openState(ctx context.Context, s *settings.Settings, log *slog.Logger, systemd *supervisor) (*state.State, error) {
	var opened *state.State
	err := systemd.opening(ctx, func() (err error) {
		if opened, err = state.Open(s, log); err != nil {
			return err
		}
		if err := opened.Relist(log, systemd.listing); err != nil {
			return errors.Join(err, opened.Close())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// assemble creates and connects the parts without running them.
func (d *service) assemble(sockets *sockets.Sockets) error {
	s := d.started
	policy := s.Policy()
	d.policy.Store(&policy)
	d.milter = milter.NewServer(d.db, d.milterOptions(s))
	if len(sockets.Spamd) > 0 {
		d.spamd = d.newSpamd()
	}
	if s.Redis.URL != "" {
		client, err := redisclient.Dial(s.Redis.URL, s.DialOptions())
		if err != nil {
			return &exit.Failure{Code: exit.Config, Err: fmt.Errorf("%s: %w", s.Where("redis.url"), err)}
		}
		redis.SetLogger(redisclient.Logger{Log: d.log})
		d.redis = client
		d.exchange = exchange.New(d.db, streams.New(client, d.db.Status().KeyID), s.ExchangeOptions(d.log))
		d.joinPrevious()
		d.presence = presence.New(client, d.ownPresence())
	}
	d.access = server.NewAccess(s.AccessOptions(s.Control.Group))
	d.newTraps()
	d.openHistory()
	var link func(string, desk.Origin) string
	if sockets.HTTP != nil {
		link = d.pageLink(sockets.HTTP.Addr())
	}
	d.api = server.NewHandler(d.desk, server.HandlerOptions{
		Decide: func(e bloomdb.Evidence, signed bool) string {
			return string(d.policy.Load().Decide(e, signed).Verdict)
		},
		Access:  d.access,
		Version: version.String(),
		Status:  func() any { return d.facts() },
		Sites:   func() []api.Site { return d.desk.Sites(d.links()) },

		Overview: d.overview,
		Link:     link,

		Strangers: d.strangers,
		SiteNotes: d.siteNotes,
		Folder:    s.Data,
		Keys:      s.KeyFiles(),
		Log:       d.log,
	})
	d.control = server.New(d.api, d.log)
	d.door = server.NewDoor(server.DoorOptions{DaemonUID: os.Geteuid(), Log: d.log})
	if sockets.Remote != nil {
		if err := d.openRemote(d.api); err != nil {
			return err
		}
	}
	if sockets.HTTP != nil {
		d.http = d.newHTTP()
	}
	return nil
}

// run serves until ctx ends or a part fails. It then stops the parts in the order of their
// dependencies: first the sources of mail and reports, then the exchange and the database's
// periodic work.
func (d *service) run(ctx context.Context, hup <-chan os.Signal, sockets *sockets.Sockets) error {
	front, frontCtx := errgroup.WithContext(ctx)
	for _, l := range sockets.Milter {
		front.Go(func() error { return d.milter.Serve(l.Name, l.Listener) })
	}
	for _, l := range sockets.Spamd {
		front.Go(func() error { return d.spamd.Serve(l.Name, l.Listener) })
	}
	front.Go(func() error { return served(d.control.Serve(d.door.Listen(sockets.Control))) })
	if d.remoteServer != nil {
		front.Go(func() error { return served(d.remoteServer.Serve(d.remote.Listen(sockets.Remote))) })
	}
	if d.http != nil {
		front.Go(func() error {
			return served(d.http.Serve(newest.Listen(sockets.HTTP, maxHTTP)))
		})
	}
	trapCtx, stopTraps := context.WithCancel(frontCtx)
	defer stopTraps()
	var traps sync.WaitGroup
	for _, t := range d.traps {
		traps.Go(func() { t.Run(trapCtx) })
	}
	workCtx, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	back, backCtx := errgroup.WithContext(workCtx)
	back.Go(func() error { return d.db.Run(backCtx) })
	back.Go(func() error { d.desk.Run(backCtx); return nil })
	back.Go(func() error { d.history.Run(backCtx); return nil })
	back.Go(func() error { d.limitMemory(backCtx); return nil })
	if d.exchange != nil {
		back.Go(func() error { return d.exchange.Run(backCtx) })
	}
	if d.presence != nil {
		back.Go(func() error { d.presence.Run(backCtx); return nil })
	}
	if d.previous != nil {
		back.Go(func() error { return d.previous.Run(backCtx) })
	}

	d.serving.Store(true)
	d.systemd.ready(judging)
	d.log.Info("ready", sockets.Attrs()...)
	d.hangups(frontCtx, backCtx, hup)
	d.serving.Store(false)
	d.log.Info("stopping")
	stopTraps()
	d.stopFront(d.current.Milter.Grace, &traps)
	err := front.Wait()
	stopWork()
	err = errors.Join(err, back.Wait())
	if d.redis != nil {
		err = errors.Join(err, d.redis.Close())
	}
	d.log.Info("stopped")
	return err
}

// lastRequests is how long a stop waits for requests to the page and for monitoring.
const lastRequests = 3 * time.Second

// stopFront stops the servers, and waits for the traps. A server that stops accepts no new connections; work in
// flight may finish within the time of grace, then it is cut off. First requests and traps end, within half of that
// time, while mail is judged: otherwise a slow request, or a trap on a disk that hangs, would keep all mail from
// being judged. Then the servers of mail stop. Monitoring runs until all others have ended.
func (d *service) stopFront(grace time.Duration, traps *sync.WaitGroup) {
	d.systemd.stopping(grace)
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	requests := shutdowns{"control": ending(d.control), "traps": ended(traps)}
	if d.remoteServer != nil {
		requests["remote"] = ending(d.remoteServer)
	}
	d.shutdown(ctx, grace/2, requests)
	judging := shutdowns{"milter": d.milter.Shutdown}
	if d.spamd != nil {
		judging["spamd"] = d.spamd.Shutdown
	}
	d.shutdown(ctx, grace, judging)
	if d.http != nil {
		d.shutdown(ctx, lastRequests, shutdowns{"http": ending(d.http)})
	}
}

// shutdowns are the ways to stop servers, by their names.
type shutdowns map[string]func(context.Context) error

// shutdown stops servers. What still runs at the end of ctx, or after the time that they have, is cut off.
func (d *service) shutdown(ctx context.Context, within time.Duration, servers shutdowns) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var stopping sync.WaitGroup
	for name, shutdown := range servers {
		stopping.Go(func() {
			if err := shutdown(ctx); err != nil {
				d.log.Warn("connections cut off at shutdown", "server", name, "error", err)
			}
		})
	}
	stopping.Wait()
}

// ended returns a wait for work that has been told to end. Work that hangs is left behind, with the goroutine that
// waits for it.
func ended(work *sync.WaitGroup) func(context.Context) error {
	return func(ctx context.Context) error {
		done := make(chan struct{})
		go func() { work.Wait(); close(done) }()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ending returns a server's Shutdown that finally cuts the remaining connections. Otherwise
// a client that reads a backup slowly would prevent the ledger from being closed.
func ending(s *http.Server) func(context.Context) error {
	return func(ctx context.Context) error {
		err := s.Shutdown(ctx)
		if err != nil {
			err = errors.Join(err, s.Close())
		}
		return err
	}
}

// served drops the error by which a server reports its shutdown.
func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// judging is the status for systemd during normal operation.
const judging = "Judging mail"

// hangups reloads the configuration at each SIGHUP until the stop begins: a reload reported
// during a stop would confuse systemd. An invalid configuration changes nothing.
func (d *service) hangups(front, back context.Context, hup <-chan os.Signal) {
	for {
		select {
		case <-front.Done():
			return
		case <-back.Done():
			return
		case <-hup:
			d.systemd.reloading()
			if err := d.reload(); err != nil {
				text := err.Error()
				d.reloadFault.Store(&text)
				d.log.Error("reload failed, the previous configuration stays in use", "error", err)
				d.systemd.ready("Running with the previous configuration; the new one is invalid (see the log)")
				continue
			}
			d.reloadFault.Store(nil)
			d.systemd.ready(judging)
		}
	}
}

func (d *service) reload() error {
	s, err := d.current.Reload()
	if err != nil {
		return err
	}
	if err := s.CheckListeners(d.listeners); err != nil {
		return fmt.Errorf("%w; other listeners need a restart", err)
	}
	live, _ := s.Changed(d.current.Config)
	if !reflect.DeepEqual(s.Whiteclnt, d.current.Whiteclnt) {
		s.WarnOfWhiteclnt(d.log)
		if !slices.Contains(live, "milter.whiteclnt") { // unless the file's key changed too
			live = append(live, "milter.whiteclnt")
		}
	}
	_, restart := s.Changed(d.started.Config)
	policy := s.Policy()
	d.policy.Store(&policy)
	d.access.Reload(s.AccessOptions(d.started.Control.Group))
	d.reloadRemote(s)
	d.milter.Reload(d.milterOptions(s))
	if d.spamd != nil {
		d.spamd.Reload(d.spamdOptions(s))
	}
	d.reloadLimit(s)
	d.level.Set(s.LogLevel())
	d.pseudonyms.IsOn.Store(s.Log.Privacy)
	d.current = s
	d.log.Info("reloaded", "changed", live)
	if len(restart) > 0 {
		d.log.Warn("changed keys need a restart", "keys", restart)
	}
	return nil
}
