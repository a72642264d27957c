package main

import (
	"net"
	"testing"
)

// The link of `spambloom web` leads to where the daemon listens, also if systemd or the kernel chose
// the address; a name that the administrator gave stays.
func TestPageAddress(t *testing.T) {
	at := func(ip string, port int) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: port} }
	for _, c := range []struct {
		configured string
		at         net.Addr
		want       string
	}{
		{"127.0.0.1:8898", at("127.0.0.1", 8898), "127.0.0.1:8898"},
		{"127.0.0.1:0", at("127.0.0.1", 40123), "127.0.0.1:40123"},
		{"192.0.2.1:8898", at("127.0.0.1", 8899), "127.0.0.1:8899"},
		{"127.0.0.1:8898", at("192.0.2.1", 8898), "192.0.2.1:8898"},
		{":8898", at("::", 8898), "127.0.0.1:8898"},
		{"[::1]:8898", at("::1", 8898), "[::1]:8898"},
		{"mx1.example.org:8898", at("192.0.2.1", 8898), "mx1.example.org:8898"},
		{"mx1.example.org:8898", at("192.0.2.1", 80), "192.0.2.1:80"},
		{"0.0.0.0:8898", &net.UnixAddr{Name: "@page"}, "127.0.0.1:8898"},
	} {
		if got := pageAddress(c.configured, c.at); got != c.want {
			t.Errorf("%s, at %s: %s, want %s", c.configured, c.at, got, c.want)
		}
	}
}
