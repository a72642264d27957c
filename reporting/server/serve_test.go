package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func listenAndServe(t testing.TB, server *http.Server) (path string) {
	t.Helper()
	path = filepath.Join(testenv.Dir(t), "control.sock")
	ln, err := net.Listen("unix", path)
	testenv.Check(t, err)
	serveOn(t, NewDoor(DoorOptions{DaemonUID: os.Getuid()}).Listen(ln), server)
	return path
}

// serveOn serves until the test's end.
func serveOn(t testing.TB, ln net.Listener, server *http.Server) {
	t.Helper()
	done := make(chan error)
	go func() { done <- server.Serve(ln) }()
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}
