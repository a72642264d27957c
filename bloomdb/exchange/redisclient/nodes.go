package redisclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxNodes bounds the nodes of a cluster. Redis recommends no more than 1,000.
	maxNodes = 1000
	// nodeLife is longer than the minute for which the library keeps a node that is no longer listed.
	nodeLife = 2 * time.Minute
)

var errNodes = errors.New("redis names more nodes than a cluster has: find what answers in its place")

// nodes bounds the nodes that those of a cluster name. The library makes a client for each address
// that a list contains, and compares it with all others. So a node could name so many new ones in
// each list that they fill the memory, and that Close waits for the comparison.
type nodes struct {
	mu   sync.Mutex
	seen map[string]time.Time // when an address was listed
}

// newCluster returns a client whose nodes are bounded.
func newCluster(o *redis.ClusterOptions) *redis.ClusterClient {
	n := &nodes{seen: map[string]time.Time{}}
	c := redis.NewClusterClient(o)
	c.OnNewNode(func(node *redis.Client) { node.AddHook(n) })
	return c
}

// take remembers the nodes of a list. It returns an error if these, with those of other lists within
// nodeLife, are too many.
func (n *nodes) take(list []redis.ClusterSlot, now time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := maps.Clone(n.seen)
	maps.DeleteFunc(all, func(_ string, at time.Time) bool { return now.Sub(at) > nodeLife })
	for _, slot := range list {
		for _, node := range slot.Nodes {
			all[node.Addr] = now
		}
	}
	if len(all) > maxNodes {
		return fmt.Errorf("%w: %d in two minutes, at most %d", errNodes, len(all), maxNodes)
	}
	n.seen = all
	return nil
}

// ProcessHook implements redis.Hook.
func (n *nodes) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if list, ok := cmd.(*redis.ClusterSlotsCmd); ok && err == nil {
			if err = n.take(list.Val(), time.Now()); err != nil {
				cmd.SetErr(err)
			}
		}
		return err
	}
}

// DialHook implements redis.Hook.
func (n *nodes) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (n *nodes) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
