package exchange

// RequestResync makes the follower read all streams, as it does every half minute.
func (x *Exchange) RequestResync() { x.follower.Resync() }
