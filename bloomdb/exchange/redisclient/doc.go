// Package redisclient is the client of Redis: one server, a cluster or sentinels, by a URL.
//
// It owns the connections with their TLS settings and timeouts, and the goroutines that the
// library starts. It bounds the answers, because the library believes every length. Close returns when no goroutine of the library is left, even if Redis is
// down. The package retries nothing: the loops that use it do. It has no locks.
package redisclient
