package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os/user"
	"strconv"

	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/milter/spamd"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/server"
)

// newSpamd returns the server of the spamd protocol.
func (d *service) newSpamd() *spamd.Server {
	return spamd.NewServer(d.milter, d.spamdOptions(d.started))
}

func (d *service) spamdOptions(s *settings.Settings) spamd.Options {
	o := s.SpamdOptions(d.log)
	o.UserOf = peerName
	o.Tell = d.tell
	return o
}

// peerName returns the user of this machine who connected, or "" if the system does not name it.
func peerName(conn net.Conn) (name string, ordinary bool) {
	id, known := server.UserOf(conn)
	if peer := server.PeerOf(conn); peer.Known {
		id, known = peer.UID, true
	}
	if !known {
		return "", false
	}
	uid := strconv.Itoa(id)
	if u, err := user.LookupId(uid); err == nil {
		return u.Username, isOrdinary(id)
	}
	return server.UIDName(id), isOrdinary(id)
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
