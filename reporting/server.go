package reporting

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Bounds of a connection. A request is small and comes from this machine, so a client
// that needs longer is stuck. A connection that stays open is of use to the client only,
// and keeps a place from others: it ends soon.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second // a report waits for the disk
	idleTimeout   = 10 * time.Second
	maxRequests   = 1000     // on one connection
	maxHeader     = 16 << 10 // bytes
)

// NewServer returns the server of the control API: its Serve, on a listener that
// went through Door.Listen, runs until its Shutdown, which waits for the requests in
// flight. Slow clients are cut, and a handler's panic costs one connection.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler:           ending(h),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// "OPTIONS *" gets a problem, as everything else that is not of this API.
		DisableGeneralOptionsHandler: true,

		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			ctx = context.WithValue(ctx, originKey{}, originOfConn(conn))
			return withVisit(ctx, conn)
		},
		ConnState: func(conn net.Conn, state http.ConnState) {
			if c, ok := conn.(*doorConn); ok {
				c.idle.Store(state != http.StateActive)
			}
		},
	}
}

// visit is one connection of a client.
type visit struct {
	requests atomic.Int32
	refusal  *Problem // nil: it is let in
}

type visitKey struct{}

func withVisit(ctx context.Context, conn net.Conn) context.Context {
	v := new(visit)
	if c, ok := conn.(*doorConn); ok {
		v.refusal = c.refusal
	}
	return context.WithValue(ctx, visitKey{}, v)
}

// ending answers what comes on a connection that the door has refused, and ends a
// connection on which there were enough requests.
func ending(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, _ := r.Context().Value(visitKey{}).(*visit)
		if v == nil { // of a server that is not NewServer's
			h.ServeHTTP(w, r)
			return
		}
		if v.refusal != nil || v.requests.Add(1) >= maxRequests {
			w.Header().Set("Connection", "close")
		}
		if v.refusal != nil {
			v.refusal.write(w)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Origin is where a request came from: a process at the other end of the unix
// socket, as the kernel names it, or a client over TCP. The zero value is nobody
// knows where.
type Origin struct {
	UID, GID, PID int
	Groups        []int  // supplementary ones; nil where the kernel does not tell them
	Known         bool   // the kernel has named a process
	Client        string // over TCP: the name that the client has proven; empty else
}

// String is unix:UID or tcp:CLIENT, or empty where nobody knows.
func (o Origin) String() string {
	switch {
	case o.Client != "":
		return "tcp:" + o.Client
	case o.Known:
		return "unix:" + strconv.Itoa(o.UID)
	}
	return ""
}

type originKey struct{}

func originOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

// attr is the origin in a log line; nothing where it is unknown.
func (o Origin) attr() slog.Attr {
	switch {
	case o.Client != "":
		return slog.Group("origin", "client", o.Client)
	case o.Known:
		return slog.Group("origin", "uid", o.UID, "pid", o.PID)
	}
	return slog.Attr{}
}
