package signature

// Unpacking lets a caller of ComputeWith bound how many messages are unpacked at a time.
// Decoding images and unpacking archives takes up to 64 MiB, whatever the size of the
// message; the rest of signing takes memory by size.
//
// It is called before a message is unpacked, and may wait. Done is called when that memory
// is no longer used. If stop is closed before, unpacking stops within 4 KiB of packed data
// or one image, done is called, and the message is unpacked from the beginning after a
// further call. A nil stop never does that.
type Unpacking func() (stop <-chan struct{}, done func())

// turns are the turns at unpacking of one message.
type turns struct {
	unpacking  Unpacking       // nil: unpacking is not bounded
	stop       <-chan struct{} // of the latest turn
	wasStopped bool            // the latest turn was stopped
}

// unpack calls f, which unpacks, until it was not stopped. It forgets what a stopped call
// counted, so that the signatures do not depend on it.
func (c *computer) unpack(f func()) {
	if c.turns.unpacking == nil {
		f()
		return
	}
	limits, counted := c.limits, c.work
	for !c.work.IsStopped() {
		if c.turns.take(f); !c.turns.wasStopped {
			return
		}
		c.limits, c.work = limits, counted
	}
}

// take calls f for one turn.
func (t *turns) take(f func()) {
	stop, done := t.unpacking()
	defer done()
	t.stop, t.wasStopped = stop, false
	f()
}

// isStopped reports whether unpacking is to stop.
func (t *turns) isStopped() bool {
	if !t.wasStopped {
		select {
		case <-t.stop:
			t.wasStopped = true
		default:
		}
	}
	return t.wasStopped
}
