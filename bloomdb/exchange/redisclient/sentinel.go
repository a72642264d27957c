package redisclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// watchInterval is the time between two questions for the primary's address while a connection to
// one exists. A primary that was replaced may still answer.
const watchInterval = time.Second

// sentinels find the primary. They replace the library's failover client, which expects that a
// sentinel's answer has two parts, and its messages five: any other one ends the process. It also
// connects to all sentinels that a sentinel names, however many. Only those of the URL are asked here.
type sentinels struct {
	name    string
	asked   []*sentinel
	dialer  *dialer
	watcher sync.WaitGroup

	mu        sync.Mutex
	last      *sentinel // answered last; nil: none
	address   string    // of the primary; "": never dialed
	primary   *dialer   // ends with the primary at address
	isWatched bool
}

// sentinel is one of them.
type sentinel struct {
	address string
	client  *redis.SentinelClient
}

// newSentinels returns the sentinels that monitor the primary of o.
func newSentinels(o *redis.FailoverOptions, d *dialer) *sentinels {
	s := &sentinels{name: o.MasterName, dialer: d}
	for _, address := range o.SentinelAddrs {
		s.asked = append(s.asked, &sentinel{address, redis.NewSentinelClient(sentinelOptions(o, address, d))})
	}
	return s
}

// dial connects to the primary. The connection ends when the sentinels name another one.
func (s *sentinels) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	address, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	return s.use(address).dial(ctx, network, address)
}

// use returns the dialer for a primary, and ends the connections to another one.
func (s *sentinels) use(address string) *dialer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.address != address {
		if s.primary != nil {
			s.primary.close()
		}
		s.address, s.primary = address, s.dialer.child()
	}
	if !s.isWatched {
		s.isWatched = true
		s.watcher.Go(s.watch)
	}
	return s.primary
}

// watch ends the connections to a primary that was replaced.
func (s *sentinels) watch() {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-s.dialer.ended.Done():
			return
		case <-tick.C:
		}
		if address, err := s.find(s.dialer.ended); err == nil {
			s.use(address)
		}
	}
}

// find returns the primary's address. It asks the sentinel that answered last, and all if that does
// not answer: the first answer counts.
func (s *sentinels) find(ctx context.Context) (string, error) {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if last != nil {
		if address, err := last.find(ctx, s.name); err == nil {
			return address, nil
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		from    *sentinel
		address string
		err     error
	}
	answers := make(chan answer, len(s.asked))
	for _, one := range s.asked {
		go func() {
			address, err := one.find(ctx, s.name)
			answers <- answer{one, address, err}
		}()
	}
	var errs []error
	for range s.asked {
		a := <-answers
		if a.err == nil {
			s.mu.Lock()
			s.last = a.from
			s.mu.Unlock()
			return a.address, nil
		}
		errs = append(errs, a.err)
	}
	return "", fmt.Errorf("no sentinel names the primary %q: %w", s.name, errors.Join(errs...))
}

// find asks one sentinel.
func (s *sentinel) find(ctx context.Context, name string) (string, error) {
	parts, err := s.client.GetMasterAddrByName(ctx, name).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return "", fmt.Errorf("sentinel %s does not monitor it: check master_name in redis.url", s.address)
	case err != nil:
		return "", fmt.Errorf("sentinel %s: %w", s.address, err)
	case len(parts) != 2 || parts[0] == "" || parts[1] == "":
		return "", fmt.Errorf("sentinel %s: the answer is no address: %w", s.address, errMalformed)
	}
	return net.JoinHostPort(parts[0], parts[1]), nil
}

// close ends the clients of the sentinels, and waits for the watcher. The dialer has been closed.
func (s *sentinels) close() (err error) {
	for _, one := range s.asked {
		err = errors.Join(err, unlessClosed(one.client.Close()))
	}
	s.mu.Lock()
	s.isWatched = true // no watcher begins from now on
	s.mu.Unlock()
	s.watcher.Wait()
	return err
}

// sentinelOptions returns the options of the client of one sentinel.
func sentinelOptions(o *redis.FailoverOptions, address string, d *dialer) *redis.Options {
	return &redis.Options{
		Addr: address, ClientName: o.ClientName, Dialer: d.dial,
		Username: o.SentinelUsername, Password: o.SentinelPassword,
		MaxRetries: o.MaxRetries, DialTimeout: o.DialTimeout, DialerRetries: o.DialerRetries,
		ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		ReadBufferSize: sentinelBuffer, WriteBufferSize: sentinelBuffer,
		ContextTimeoutEnabled: o.ContextTimeoutEnabled, DisableIdentity: o.DisableIdentity,
		PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout, MaintNotificationsConfig: noMaintenance(),
	}
}

// sentinelBuffer is the buffer of a connection to a sentinel: an answer is short.
const sentinelBuffer = 4096

// primaryOptions returns the options of the client of the primary, whose address dial finds.
func primaryOptions(o *redis.FailoverOptions, dial func(ctx context.Context, network, address string) (net.Conn, error)) *redis.Options {
	return &redis.Options{
		Addr: primaryAddress, ClientName: o.ClientName, Dialer: dial,
		DB: o.DB, Protocol: o.Protocol, Username: o.Username, Password: o.Password,
		MaxRetries: o.MaxRetries, MinRetryBackoff: o.MinRetryBackoff, MaxRetryBackoff: o.MaxRetryBackoff,
		DialTimeout: o.DialTimeout, DialerRetries: o.DialerRetries, DialerRetryTimeout: o.DialerRetryTimeout,
		ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		ContextTimeoutEnabled: o.ContextTimeoutEnabled, DisableIdentity: o.DisableIdentity, IdentitySuffix: o.IdentitySuffix,
		PoolFIFO: o.PoolFIFO, PoolSize: o.PoolSize, MaxConcurrentDials: o.MaxConcurrentDials, PoolTimeout: o.PoolTimeout,
		MinIdleConns: o.MinIdleConns, MaxIdleConns: o.MaxIdleConns, MaxActiveConns: o.MaxActiveConns,
		PipelinePoolSize: o.PipelinePoolSize, PipelineReadBufferSize: o.PipelineReadBufferSize, PipelineWriteBufferSize: o.PipelineWriteBufferSize,
		ConnMaxIdleTime: o.ConnMaxIdleTime, ConnMaxLifetime: o.ConnMaxLifetime, ConnMaxLifetimeJitter: o.ConnMaxLifetimeJitter,
		TLSConfig:                o.TLSConfig, // used by dial
		MaintNotificationsConfig: noMaintenance(),
	}
}

// primaryAddress is what stands in place of an address that the sentinels tell.
const primaryAddress = "sentinels"
