package keyring

import (
	"encoding/binary"
	"testing"
)

// TestSipHashVector: the value of the reference program for the key 00 01 .. 0f and the input
// 00 01 .. 07.
func TestSipHashVector(t *testing.T) {
	var bytes [16]byte
	for i := range bytes {
		bytes[i] = byte(i)
	}
	key := Sip{binary.LittleEndian.Uint64(bytes[:8]), binary.LittleEndian.Uint64(bytes[8:])}
	if got, want := key.Hash(binary.BigEndian.Uint64(bytes[:8])), uint64(0x93f5f5799a932462); got != want {
		t.Errorf("%#x, want %#x", got, want)
	}
}

func BenchmarkHash(b *testing.B) {
	hash := Sip{1, 2}.Hash
	for x := uint64(0); b.Loop(); {
		x ^= hash(x)
	}
}
