package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os/user"
	"strconv"

	"github.com/spambloom/spambloom/cmd/internal/socket"
	"github.com/spambloom/spambloom/milter/spamd"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/server"
)

// spamdOptions returns the options of the spamd protocol, without what the daemon's other
// parts do for it.
func (s *settings) spamdOptions(log *slog.Logger) spamd.Options {
	return spamd.Options{
		Threshold:               s.Spamd.Threshold,
		SpamScore:               s.Spamd.SpamScore,
		BulkScore:               s.Spamd.BulkScore,
		MaxConnections:          int(s.Spamd.MaxConnections),
		MaxConnectionsPerClient: int(s.Spamd.MaxConnectionsPerClient),
		ContentTimeout:          s.Milter.ContentTimeout,
		WriteTimeout:            s.Milter.WriteTimeout,
		Log:                     log,
	}
}

// spamdMemory returns the most memory of the spamd protocol. Unit: bytes.
func (s *settings) spamdMemory() int64 {
	if len(s.Spamd.Listen) == 0 {
		return 0
	}
	return s.spamdOptions(nil).MostMemory()
}

// checkSpamd accepts unix sockets, and TCP addresses of this machine.
func (s *settings) checkSpamd() error {
	var errs []error
	for _, spec := range s.Spamd.Listen {
		network, address, err := socket.Parse(spec)
		if err == nil && network != "unix" && !isLoopback(address) {
			err = fmt.Errorf("address %q: want unix:PATH, or a loopback address such as inet:783@127.0.0.1; the protocol has no passwords", spec)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Where("spamd.listen"), err))
		}
	}
	if _, err := socket.LookupGroup(s.Spamd.Group); err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", s.Where("spamd.group"), err))
	}
	return errors.Join(errs...)
}

func isLoopback(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// newSpamd returns the server of the spamd protocol.
func (d *service) newSpamd() *spamd.Server {
	return spamd.NewServer(d.milter, d.spamdOptions(d.started))
}

func (d *service) spamdOptions(s *settings) spamd.Options {
	o := s.spamdOptions(d.log)
	o.UserOf = peerName
	o.Tell = d.tell
	return o
}

// peerName returns the user who connected to a unix socket, or "" if the system does not
// name it.
func peerName(conn net.Conn) string {
	peer := server.PeerOf(conn)
	if !peer.Known {
		return ""
	}
	uid := strconv.Itoa(peer.UID)
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return "uid:" + uid
}

// tell enters a report or a revocation with the rights that the user has at the control
// socket.
func (d *service) tell(ctx context.Context, conn net.Conn, t spamd.Tell) error {
	if _, ok := conn.(*net.UnixConn); !ok {
		return &spamd.Error{Code: spamd.CodeNoAccess, Text: "TELL requires a unix socket: over TCP, users cannot prove who they are"}
	}
	q := api.NewRequest(t.Set)
	q.Reporter = t.User
	endpoint := v1.Revoke
	if t.IsSpam {
		endpoint = v1.Report
	}
	_, err := server.Post(server.WithOrigin(ctx, server.PeerOf(conn)), d.api, endpoint, q)
	var problem *api.Problem
	if !errors.As(err, &problem) {
		return err
	}
	refused := &spamd.Error{Code: spamd.CodeDataErr, Text: problem.Detail}
	switch {
	case problem.Status == http.StatusForbidden:
		refused.Code = spamd.CodeNoPerm
	case problem.Status == http.StatusTooManyRequests || problem.Status >= http.StatusInternalServerError:
		refused.Code = spamd.CodeTempFail
	}
	return refused
}
