package link

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoff(t *testing.T) {
	var b Backoff
	for range 3 {
		sum := time.Duration(0)
		for want := firstWait; want < lastWait; want *= 2 {
			if got := b.Next(); got < want/2 || got > want {
				t.Errorf("waits %v, not %v to %v", got, want/2, want)
			} else {
				sum += got
			}
		}
		for range 10 {
			if got := b.Next(); got < lastWait/2 || got > lastWait {
				t.Errorf("waits %v in the end", got)
			}
		}
		b.Succeeded()
	}
}

func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		if !l.Allow("a") || l.Allow("a") || !l.Allow("b") {
			t.Error("once each, at first")
		}
		time.Sleep(limiterPeriod - time.Millisecond)
		if l.Allow("a") {
			t.Error("again within a minute")
		}
		time.Sleep(time.Millisecond)
		if !l.Allow("a") || l.Allow("a") {
			t.Error("once more after it")
		}
		for i := range 3 * limiterSize {
			l.Allow(fmt.Sprint(i))
		}
		if len(l.last) > limiterSize {
			t.Errorf("remembers %d things", len(l.last))
		}
	})
}

// Redis repeats the arguments of a command that it does not know: a renamed AUTH, or HELLO before Redis 6.
// Neither the log nor the status shows them.
func TestFaultWithoutPassword(t *testing.T) {
	for _, text := range []string{
		"ERR unknown command 'auth', with args beginning with: 'me' 'hunter2' ",
		"failed to authenticate: ERR unknown command `auth`, with args beginning with: `me`, `hunter2`, ",
		"ERR unknown subcommand 'x', with args beginning with: 'a\nhunter2' ",
	} {
		var out strings.Builder
		l := New(slog.New(slog.NewTextHandler(&out, nil)))
		l.Failed(Publish, errors.New(text))
		last, _ := l.LastFault()
		shown := out.String() + last + l.Fault().String()
		if strings.Contains(shown, "hunter2") || strings.Count(shown, "ERR unknown") != 3 {
			t.Error(shown)
		}
	}
}

func TestLink(t *testing.T) {
	l := New(slog.New(slog.DiscardHandler))
	for _, p := range []Part{Publish, Subscribe, Read} {
		if l.IsConnected() {
			t.Errorf("connected before %s", p)
		}
		l.Succeeded(p)
	}
	if !l.IsConnected() {
		t.Error("not connected")
	}
	l.Failed(Read, errors.New("gone"))
	if fault, _ := l.LastFault(); l.IsConnected() || fault != "read: gone" {
		t.Error(fault)
	}
	l.Succeeded(Read)
	if fault, _ := l.LastFault(); !l.IsConnected() || fault != "read: gone" {
		t.Error("the last error must be reported even after it was overcome")
	}
}

// An intermittent part does not fill the log.
func TestLinkThatFlaps(t *testing.T) {
	var text strings.Builder
	l := New(slog.New(slog.NewTextHandler(&text, nil)))
	l.Succeeded(Publish)
	for range 100 {
		l.Failed(Publish, errors.New("gone"))
		l.Succeeded(Publish)
	}
	if fails, works := strings.Count(text.String(), "exchange failed"), strings.Count(text.String(), "exchange recovered"); fails != 1 || works != 1 {
		t.Errorf("logged %d failures and %d recoveries, want one each a minute", fails, works)
	}
	l.Failed(Read, errors.New("gone"))
	if !strings.Contains(text.String(), "part=read") {
		t.Error("another part must be logged at once")
	}
}

// Each changed cause of a fault is logged once, and shown while it lasts.
func TestChangedCauseIsLogged(t *testing.T) {
	var text strings.Builder
	l := New(slog.New(slog.NewTextHandler(&text, nil)))
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for range 10 {
		l.Failed(Publish, refused)
	}
	for range 10 {
		l.Failed(Publish, errors.New("WRONGPASS invalid username-password pair or user is disabled."))
	}
	if f := l.Fault(); f == nil || f.Cause != Password {
		t.Errorf("fault %+v", f)
	}
	l.Failed(Publish, errors.New("NOPERM this user has no permissions to run the 'eval' command"))
	for cause, want := range map[Cause]int{Unreachable: 1, Password: 1, Rights: 1} {
		if n := strings.Count(text.String(), "cause="+string(cause)); n != want {
			t.Errorf("%s: logged %d times, want %d", cause, n, want)
		}
	}
	l.Succeeded(Publish)
	if f := l.Fault(); f != nil || strings.Count(text.String(), "exchange recovered") != 1 {
		t.Errorf("fault %+v after it was overcome\n%s", f, text.String())
	}
}

func TestCauseOf(t *testing.T) {
	for text, want := range map[string]Cause{
		"WRONGPASS invalid username-password pair":                                               Password,
		"NOAUTH Authentication required.":                                                        Password,
		"NOPERM No permissions to access a channel":                                              Rights,
		"ERR ... The user executing the script can't run this command or subcommand script: abc": Rights,
		"OOM command not allowed when used memory > 'maxmemory'.":                                Memory,
		"MISCONF Redis is configured to save RDB snapshots":                                      Disk,
		"LOADING Redis is loading the dataset in memory":                                         Loading,
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.": Busy,
		"READONLY You can't write against a read only replica.":                                  Replica,
		"snapshot has disappeared from Redis":                                                    Lost,
		"own news have not come back for 7s":                                                     Unreachable,
		"EOF":                                                                                    Unreachable,
		"something else":                                                                         Other,
	} {
		if got := CauseOf(errors.New(text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := CauseOf(fmt.Errorf("resume: %w", &fs.PathError{Op: "write", Path: "identity", Err: syscall.ENOSPC})); got != Other {
		t.Errorf("a file of this site: %s", got)
	}
	if got := CauseOf(fmt.Errorf("dial: %w", x509.UnknownAuthorityError{})); got != Certificate {
		t.Error(got)
	}
}

// People do not see the names of keys in Redis; the log has them.
func TestFaultForPeople(t *testing.T) {
	for text, want := range map[string]string{
		"{spambloom:1eec3aa8cf53f430}:stream:mx1: EOF":                          "unreachable: Redis closed the connection; check that Redis runs and listens on the address in redis.url",
		"publish: {spambloom:1eec}:heads: dial tcp 192.0.2.1:6379: i/o timeout": "unreachable: publish: dial tcp 192.0.2.1:6379: i/o timeout; check that Redis runs and listens on the address in redis.url",
		"dial tcp [::1]:6379: connection refused":                               "unreachable: dial tcp [::1]:6379: connection refused; check that Redis runs and listens on the address in redis.url",
	} {
		if got := (Fault{Unreachable, text}).String(); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
	if got := (Fault{Other, "WRONGPASS user is disabled."}).String(); got != "other: WRONGPASS user is disabled" {
		t.Error(got)
	}
	if got := (Fault{Other, "odd"}).String(); got != "other: odd" {
		t.Error(got)
	}
}
