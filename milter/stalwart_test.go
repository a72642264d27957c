package milter

import (
	"strings"
	"testing"

	gomilter "github.com/emersion/go-milter"
)

// stalwartOffer are the protocol flags that Stalwart offers: no HELO, no end of the header. The
// milter can suppress no answer.
const stalwartOffer = gomilter.OptNoHelo | gomilter.OptNoEOH

// Stalwart names itself at the connection, connects once for each message, trims the fields, and
// sends the whole message as the body. What is judged is the body alone, as from another MTA.
func TestStalwartRepeatsTheHeader(t *testing.T) {
	header := []string{"From: anna@example.org", "Subject: folded\r\n\tonce", "Content-Type: text/plain"}
	text := "The orchard has apples.\r\n"
	whole := strings.Join(header, "\r\n") + "\r\n\r\n" + text
	for _, c := range []struct{ name, daemon, body, want string }{
		{"its dialogue", "Stalwart v0.13.4", whole, text},
		{"bare line feeds", "Stalwart Mail Server v0.9", strings.ReplaceAll(whole, "\r", ""), strings.ReplaceAll(text, "\r", "")},
		{"the body alone", "Stalwart v0.17.0", text, text},
		{"another header before the body", "Stalwart v0.13.4", "Subject: x\r\n\r\n" + text, "Subject: x\r\n\r\n" + text},
		{"another MTA", "stalwart.example.org", whole, whole},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := start(t, Options{}, clean)
			m := dialAs(t, b.addr, stalwartOffer, c.daemon)
			m.send(mail{header: header, body: c.body})
			got := b.contents()[0].content
			if string(got.Body) != c.want || len(got.Header) != len(header) {
				t.Fatalf("judged %q after %d fields, want %q", got.Body, len(got.Header), c.want)
			}
		})
	}
}

// TestStalwartRepeatsALongHeader is the attack "empty fields" at Stalwart: the copy of a header of which fields
// are left out is no part of the body, either.
func TestStalwartRepeatsALongHeader(t *testing.T) {
	const text = "The orchard has apples.\n"
	for _, short := range []bool{false, true} {
		s := NewServer(nil, Options{MaxMessage: 1 << 20, MaxMemory: 64 << 20})
		m := &message{options: s.options.Load(), server: s, holder: s.clients.Enter("client")}
		m.Daemon = "Stalwart v0.13.4"
		for range 10_000 {
			m.addField("a", "")
		}
		m.addField("Content-Type", "text/plain")
		m.addChunk([]byte(strings.Repeat("a:\n", 10_000) + "Content-Type: text/plain\n\n" + text))
		m.short = short
		if got := m.content(); string(got.Body) != text || !m.cut {
			t.Errorf("short %v: %d fields, the body %.50q", short, len(got.Header), got.Body)
		}
		m.release()
	}
}

// dialAs is dial for an MTA that names itself.
func dialAs(t *testing.T, addr string, offer gomilter.OptProtocol, daemon string) *mta {
	t.Helper()
	s, err := gomilter.NewClientWithOptions("tcp", addr, gomilter.ClientOptions{Dialer: offering(offer), ActionMask: 0xff}).Session()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	m := &mta{s, t}
	if err := m.Macros(gomilter.CodeConn, "{daemon_name}", daemon, "j", "mx1.example.org", "{client_port}", "25"); err != nil {
		t.Fatal(err)
	}
	m.must(m.Conn("client.example", gomilter.FamilyInet, 25, "192.0.2.1"))
	return m
}
