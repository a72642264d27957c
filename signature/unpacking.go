package signature

// maxUnpacking is how many messages decode images or unpack archives at a time. Each may
// take 64 MiB for that, whatever its own size; the rest of signing takes memory by size.
const maxUnpacking = 4

var unpacking = make(chan struct{}, maxUnpacking)

// takeUnpacking waits for its turn. The caller calls giveBack when the memory is no longer used.
func takeUnpacking() (giveBack func()) {
	unpacking <- struct{}{}
	return func() { <-unpacking }
}
