package work

// MaxKept is the size, in bytes, up to which a buffer is kept for the next message.
const MaxKept = 1 << 20

// Keep returns b without its content, to be used for the next message; nil if b is too
// large to be kept.
func Keep(b []byte) []byte {
	if cap(b) > MaxKept {
		return nil
	}
	return b[:0]
}
