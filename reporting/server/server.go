package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/server/refusal"
)

// Bounds of a connection. A request is small and comes from this machine, so a client that
// needs longer is stuck. An idle connection takes a place from others and is closed soon,
// see api.IdleTimeout.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second // a report waits for the disk
	maxRequests   = 1000             // on one connection
)

// New returns the server of the control API. Its Serve is to be called with a listener from
// Door.Listen and runs until Shutdown, which waits for the requests in flight. Connections
// of slow clients are closed. A panic of the handler closes one connection.
func New(h http.Handler, log *slog.Logger) *http.Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler:           ending(h),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       api.IdleTimeout,
		MaxHeaderBytes:    refusal.MaxHeader,
		// "OPTIONS *" is answered with a problem, like everything else outside this API.
		DisableGeneralOptionsHandler: true,

		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			ctx = context.WithValue(ctx, originKey{}, originOfConn(conn))
			return withVisit(ctx, conn)
		},
		ConnState: func(conn net.Conn, state http.ConnState) {
			c, ok := conn.(*doorConn)
			if r, isRemote := conn.(*remoteConn); isRemote && state != http.StateActive { // else see authenticate
				c, ok = r.Beneath().(*doorConn)
			}
			if ok {
				c.idle.Store(state != http.StateActive)
			}
		},
	}
}

// visit is the state of one connection.
type visit struct {
	requests atomic.Int32
	refusal  *api.Problem // nil: the connection is accepted
}

type visitKey struct{}

func withVisit(ctx context.Context, conn net.Conn) context.Context {
	v := new(visit)
	if c, ok := conn.(*doorConn); ok {
		v.refusal = c.refusal
	}
	return context.WithValue(ctx, visitKey{}, v)
}

// ending answers requests on connections that the door has refused, and ends connections
// with enough requests.
func ending(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, _ := r.Context().Value(visitKey{}).(*visit)
		if v == nil { // of a server that New did not make
			h.ServeHTTP(w, r)
			return
		}
		if v.refusal != nil || v.requests.Add(1) >= maxRequests {
			w.Header().Set("Connection", "close")
		}
		if v.refusal != nil {
			writeProblem(w, v.refusal)
			return
		}
		h.ServeHTTP(w, r)
	})
}

type originKey struct{}

// WithOrigin returns a context for requests of a user of the page or a client, who has proven a name.
func WithOrigin(ctx context.Context, o desk.Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

func originOf(ctx context.Context) desk.Origin {
	o, _ := ctx.Value(originKey{}).(desk.Origin)
	return o
}
