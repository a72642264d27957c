package turns

import (
	"net/netip"
	"testing"
	"time"
)

// IPv4 clients behind a translator are different clients, and none of them is a network of others.
func TestTranslatedClients(t *testing.T) {
	for client, want := range map[string]string{
		"64:ff9b::c000:201": "192.0.2.1", "64:ff9b::cb00:7101": "203.0.113.1",
		"64:ff9b:1::c000:201": "64:ff9b:1::c000:201", "2001:db8::1": "2001:db8::1", "192.0.2.1": "192.0.2.1",
	} {
		if got := original(netip.MustParseAddr(client)); got != netip.MustParseAddr(want) {
			t.Errorf("%s is %s, want %s", client, got, want)
		}
	}
	if got := original(netip.Addr{}); got.IsValid() {
		t.Errorf("no client is %s", got)
	}
	d := New(0, func(func()) {})
	a := d.Ask(Request{Client: netip.MustParseAddr("64:ff9b::c000:201"), Limit: time.Hour})
	b := d.Ask(Request{Client: netip.MustParseAddr("64:ff9b::cb00:7101"), Limit: time.Hour})
	if a.ids[0] == b.ids[0] || a.ids[1] == b.ids[1] {
		t.Errorf("the identities %v and %v have one in common", a.ids, b.ids)
	}
}
