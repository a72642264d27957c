package keyspace

// Update is one change of one keyspace, which is prepared. It is written, then shown.
type Update struct {
	Ready   func() error // reports why it cannot be written, as far as is known; nil: nothing is known
	Write   func() error // returns when it is on disk
	Show    func() error // makes it visible to readers
	Release func()       // ends it, whether or not it was shown; nil: nothing to end
}
