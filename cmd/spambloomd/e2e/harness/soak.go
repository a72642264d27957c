//go:build soak

package harness

// Soak is true in a long run (make soak, tag soak).
const Soak = true
