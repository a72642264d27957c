package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/server/peer"
)

// The other doors of the daemon ask the control API without a connection. So the rights and
// bounds of a user are the same at all of them.

// PeerOf returns the process that connected to a unix socket. It is not known over TCP.
func PeerOf(conn net.Conn) desk.Origin { return peer.Of(conn) }

// UserOf returns the user of this machine who connected over TCP, and false if it is not known.
func UserOf(conn net.Conn) (uid int, ok bool) { return peer.UserOf(conn) }

// UIDName names a user by its number, and all users of one person's range (subuid(5)) alike.
func UIDName(uid int) string { return peer.UIDName(uid) }

// Get asks control in the name of the origin in ctx, which WithOrigin has set. The error is
// an api.Problem if control refused.
func Get[A any](ctx context.Context, control http.Handler, endpoint v1.Get[A]) (A, error) {
	return ask[A](ctx, control, http.MethodGet, string(endpoint), nil)
}

// Post sends a request to control as Get does.
func Post[Q, A any](ctx context.Context, control http.Handler, endpoint v1.Post[Q, A], q Q) (A, error) {
	body, err := json.Marshal(q)
	if err != nil {
		var none A
		return none, err
	}
	return ask[A](ctx, control, http.MethodPost, string(endpoint), body)
}

// written is what the control API writes.
type written struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *written) Header() http.Header         { return a.header }
func (a *written) WriteHeader(status int)      { a.status = status }
func (a *written) Write(b []byte) (int, error) { return a.body.Write(b) }

func ask[A any](ctx context.Context, control http.Handler, method, path string, body []byte) (result A, err error) {
	r, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return result, err
	}
	a := &written{header: http.Header{}, status: http.StatusOK}
	control.ServeHTTP(a, r)
	if a.status != http.StatusOK {
		problem := &api.Problem{}
		if err := json.Unmarshal(a.body.Bytes(), problem); err != nil {
			return result, fmt.Errorf("%s: %w", path, err)
		}
		problem.Status = a.status
		return result, problem
	}
	return result, json.Unmarshal(a.body.Bytes(), &result)
}
