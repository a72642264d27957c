package streams_test

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/cmd/testenv"
)

const (
	confirmation = ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"
	patience     = time.Minute // only a defect takes as long
)

// subscribed returns a subscription at a program that answers in the place of Redis. It confirms
// the subscription, sends first in the same piece, and then each piece that the test gives it.
func subscribed(t *testing.T, first string) (streams.Subscription, chan<- string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	pieces := make(chan string)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		buf := make([]byte, 4096)
		for {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			if strings.Contains(string(buf[:n]), "subscribe") {
				break
			}
			fmt.Fprint(c, strings.Repeat("-ERR unknown command\r\n", strings.Count(string(buf[:n]), "*")))
		}
		fmt.Fprint(c, confirmation+first)
		for piece := range pieces {
			fmt.Fprint(c, piece)
		}
	}()
	client, err := redisclient.Dial("redis://"+ln.Addr().String()+"?protocol=2", redisclient.Options{})
	testenv.Check(t, err)
	sub, err := streams.New(client, "k").Subscribe(t.Context())
	testenv.Check(t, err)
	t.Cleanup(func() {
		sub.Close()
		close(pieces)
		testenv.Check(t, errors.Join(client.Close(), ln.Close()))
		<-ended
	})
	if e, err := sub.Receive(t.Context(), patience); err != nil || !e.Subscribed {
		t.Fatalf("%+v, %v", e, err)
	}
	return sub, pieces
}

// A server in the place of Redis sends messages of other forms than Redis does. Each is an error, and none
// ends the process.
func TestHostileMessages(t *testing.T) {
	for _, sent := range []string{
		"*0\r\n", ">0\r\n", "*1\r\n:1\r\n", "*1\r\n$-1\r\n", "*1\r\n$7\r\nmessage\r\n", "*2\r\n$7\r\nmessage\r\n:1\r\n",
		"*3\r\n$7\r\nmessage\r\n:1\r\n$1\r\nx\r\n", "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n*1\r\n:1\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n$1\r\nx\r\n",
		"*1\r\n$9\r\nsubscribe\r\n", "*1\r\n$8\r\npmessage\r\n", "*1\r\n$4\r\npong\r\n", "*2\r\n$4\r\npong\r\n*0\r\n", "*1\r\n*1\r\n*0\r\n",
		"%1\r\n*0\r\n:1\r\n", "*1\r\n%1\r\n*0\r\n:1\r\n", ":1\r\n", "#t\r\n", "(1\r\n", "=3\r\nabc\r\n", "-ERR no\r\n", "_\r\n",
	} {
		sub, _ := subscribed(t, sent)
		if e, err := sub.Receive(t.Context(), patience); err == nil || errors.Is(err, streams.ErrQuiet) {
			t.Errorf("%q is %+v, %v", sent, e, err)
		}
	}
}

// A message that stops in the middle until the wait for it ends: what follows is not read as
// another message, whose announced length nobody has checked.
func TestTornMessage(t *testing.T) {
	const rest = "$9000000000000000000\r\n"
	sub, pieces := subscribed(t, fmt.Sprintf(">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$%d\r\nabc", 3+len(rest)))
	e, err := sub.Receive(t.Context(), 50*time.Millisecond)
	if errors.Is(err, streams.ErrQuiet) {
		pieces <- rest + "\r\n"
		e, err = sub.Receive(t.Context(), patience)
		t.Fatalf("what follows the torn message is %+v, %v", e, err)
	}
	if err == nil {
		t.Errorf("the torn message is %+v", e)
	}
}

// Another client writes entries of so many small fields that Redis is busy with each for longer than a
// client waits. Whatever meets one first moves the stream aside, so that nothing meets it again:
// at the stream's begin, at its end, or between entries of the site.
func TestHugeEntry(t *testing.T) {
	s := newStore(redistest.Dial(t, redistest.Start(t).URL()+redistest.Patient))
	ctx := t.Context()
	own := func(seq uint64) []any { return []any{streams.EntryField, fmt.Sprint("record ", seq)} }
	huge := slices.Repeat([]any{"f", "v"}, 100_000)
	meet := map[string]func() error{
		"tail": func() error {
			_, err := s.Tail(ctx, "a")
			return err
		},
		"reclaim":   func() error { return s.Reclaim(ctx, "a", streams.At(5, 3)) },
		"publish":   func() error { return s.Publish(ctx, delta("a", 5, 4, "four"), streams.At(5, 3), 1000) },
		"heartbeat": func() error { return s.Heartbeat(ctx, "a", []byte("alive"), streams.At(5, 3), nil) },
		"read": func() error {
			batch, err := s.Read(ctx, "a", streams.At(5, 0))
			for _, e := range batch {
				if e.Record == nil {
					t.Errorf("%v is read", e)
				}
			}
			return err
		},
	}
	for at, by := range map[int][]string{1: {"tail", "reclaim", "publish", "heartbeat", "read"}, 2: {"read"}, 3: {"tail", "reclaim", "publish", "heartbeat", "read"}} {
		for _, who := range by {
			for i := range 3 {
				values := own(uint64(i + 1))
				if i+1 == at {
					values = huge
				}
				testenv.Check(t, s.redis.XAdd(ctx, &redis.XAddArgs{Stream: s.StreamKey("a"), ID: streams.At(5, uint64(i+1)).String(), Values: values}).Err())
			}
			if err := meet[who](); err != nil && !errors.Is(err, streams.ErrMoved) {
				t.Errorf("%s meets entry %d: %v", who, at, err)
			}
			if n := s.redis.Exists(ctx, s.StreamKey("a")).Val(); n != 0 {
				t.Errorf("%s leaves entry %d", who, at)
			}
			if kind := s.redis.Type(ctx, s.ForeignKey("a")).Val(); kind != "stream" {
				t.Errorf("%s moves nothing aside: %q", who, kind)
			}
			testenv.Check(t, s.redis.Del(ctx, s.StreamKey("a"), s.ForeignKey("a"), s.HeadsKey(), s.TailsKey()).Err())
		}
	}
}
