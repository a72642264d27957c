package format

import "testing"

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 400 << 20: "400.0 MiB", 5 << 40: "5.0 TiB", 5 << 50: "5120.0 TiB"} {
		if got := Size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}
