package keyspace

// Update is a prepared change of one keyspace. It is written, then shown.
type Update struct {
	Ready   func() error // returns why Write would fail, if that is known; nil: not known
	Write   func() error // returns when it is on disk
	Show    func() error // makes it visible to readers
	Release func()       // ends the update, whether or not it was shown; nil: nothing to end
}
