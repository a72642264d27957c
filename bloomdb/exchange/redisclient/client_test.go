package redisclient

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A client closed while a connection is in use reports no error, although its dialer closes
// that connection before the library does.
func TestCloseWhileInUse(t *testing.T) {
	m := miniredis.RunT(t)
	c, err := Dial("redis://"+m.Addr(), Options{})
	testenv.Check(t, err)
	used := c.UniversalClient.(*redis.Client).Conn()
	defer used.Close()
	testenv.Check(t, used.Ping(t.Context()).Err())
	c.dialer.close()
	testenv.Eventually(t, "the connection is closed", func() bool { return m.CurrentConnectionCount() == 0 })
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
