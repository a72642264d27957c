package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// TestEndingCuts: connections open at the end of the grace period are cut.
func TestEndingCuts(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	begun, ended, served := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		defer close(ended)
		for piece := make([]byte, 1<<20); ; { // more than any client reads
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})}
	go func() { defer close(served); _ = s.Serve(ln) }()
	client, err := net.Dial("tcp", ln.Addr().String())
	testenv.Check(t, err)
	defer client.Close()
	if _, err := client.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the grace period is over
	if err := ending(s)(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the shutdown returned %v", err)
	}
	<-ended
	<-served
}
