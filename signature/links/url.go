package links

import (
	"bytes"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/page"
	"github.com/spambloom/spambloom/signature/suffix"
	"github.com/spambloom/spambloom/signature/work"
)

const (
	maxURL    = 2048 // bytes of a URL that are read
	maxHost   = 253  // RFC 1035 section 2.3.4
	maxNested = 4    // URLs inside one URL that are read
)

// hostProfile maps a host name as browsers do (UTS #46, not transitional).
var hostProfile = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))

// addURL records the domain of a URL, and those of URLs inside it, to which a redirector
// would go on. The scheme and its colon are cut off. There may be backslashes, and too
// many or too few slashes, as browsers read them (WHATWG URL Standard, section 4.4).
func (l *Finder) addURL(url []byte, r page.Rank) {
	url = url[:min(len(url), maxURL)]
	host, rest := cutAuthority(trimSlashes(url))
	l.addHost(host, r)
	for range maxNested {
		var inner []byte
		l.work.Spend(work.PerToken + len(rest))
		if inner = nextURL(rest); inner == nil {
			return
		}
		host, rest = cutAuthority(trimSlashes(inner))
		l.addHost(host, r)
	}
}

func trimSlashes(b []byte) []byte { return bytes.TrimLeft(b, "/\\") }

// cutAuthority splits the text after the slashes into the host, without user and port,
// and the rest.
func cutAuthority(b []byte) (host, rest []byte) {
	end := bytes.IndexAny(b, "/\\?#")
	if end < 0 {
		end = len(b)
	}
	host, rest = b[:end], b[end:]
	host = host[bytes.LastIndexByte(host, '@')+1:]
	if colon := bytes.LastIndexByte(host, ':'); colon > bytes.LastIndexByte(host, ']') {
		host = host[:colon]
	}
	return host, rest
}

// nextURL returns an http URL inside a path or a query. Its colon and slashes may be
// percent-encoded, once or twice, or a parameter may begin with "www.".
func nextURL(b []byte) []byte {
	if bytes.IndexByte(b, '%') >= 0 {
		b = ascii.UnescapePercent(ascii.UnescapePercent(b))
	}
	for at := 0; at < len(b); at++ {
		switch {
		case b[at] == ':':
			after := b[at+1:]
			if schemeBefore(b[:at]) && len(after) > 1 && isSlash(after[0]) && isSlash(after[1]) {
				return after
			}
		case b[at] == '=' && ascii.HasPrefixFold(b[at+1:], "www."):
			return b[at+1:]
		}
	}
	return nil
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }

// schemeBefore reports whether b ends with a scheme of the web. A longer word may end
// with it. "hxxp", by which people name links that nobody should follow, is none.
func schemeBefore(b []byte) bool {
	return ascii.HasSuffixFold(b, "http") || ascii.HasSuffixFold(b, "https") || ascii.HasSuffixFold(b, "ftp")
}

// stepsOfName returns the cost of linkDomain. For a name that is not ASCII, it grows with
// the square of its length (RFC 3492 section 6.2).
func stepsOfName(raw []byte) int {
	if len(raw) > 3*maxHost || ascii.Is(raw) {
		return work.PerHost + len(raw)/2
	}
	return 4*work.PerHost + 4*len(raw) + len(raw)*len(raw)/16
}

// linkDomain returns the domain of a host in a URL: the registrable domain, or an address
// in brackets; "" if the host is neither, or of a private network.
func linkDomain(raw []byte) string {
	if len(raw) > 3*maxHost {
		return ""
	}
	if bytes.HasPrefix(raw, []byte("[")) {
		addr, _ := netip.ParseAddr(strings.Trim(string(raw), "[]"))
		return addressDomain(addr)
	}
	host, ok := asciiHost(ascii.UnescapePercent(raw))
	if !ok {
		return ""
	}
	if last := host[strings.LastIndexByte(host, '.')+1:]; isNumber(last) {
		return addressDomain(parseIPv4(host))
	}
	if strings.IndexByte(host, '.') < 0 {
		return ""
	}
	return suffix.Registrable(host)
}

// asciiHost returns the form of a host name in the DNS.
func asciiHost(b []byte) (string, bool) {
	host := string(b)
	if !ascii.Is(b) {
		mapped, err := hostProfile.ToASCII(host)
		if err != nil {
			return "", false
		}
		host = mapped
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host, isHostName(host)
}

// isHostName checks the characters and lengths of a name. An underscore is not allowed in
// host names, but it occurs in the DNS and browsers accept it.
func isHostName(host string) bool {
	if host == "" || len(host) > maxHost {
		return false
	}
	label := 0
	for i := range len(host) {
		c := host[i]
		switch {
		case c == '.' && label > 0:
			label = 0
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_':
			if label++; label > 63 {
				return false
			}
		default:
			return false
		}
	}
	return label > 0
}

// isNumber reports whether browsers read a host with this last label as an address.
func isNumber(label string) bool {
	_, ok := parseNumber(label)
	return ok
}

// parseNumber reads a decimal, octal (0...) or hexadecimal (0x...) number.
func parseNumber(s string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
		if s == "" {
			return 0, true
		}
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}

// parseIPv4 reads an address of one to four numbers. The last one fills the remaining
// bytes (WHATWG URL Standard, section 3.5).
func parseIPv4(host string) netip.Addr {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}
	}
	var v uint64
	for i, p := range parts {
		n, ok := parseNumber(p)
		last := i == len(parts)-1
		switch {
		case !ok, !last && n > 255, last && n >= 1<<(8*(5-len(parts))):
			return netip.Addr{}
		case last:
			v = v<<(8*(5-len(parts))) | n
		default:
			v = v<<8 | n
		}
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
}

// addressDomain returns the name of an address on the public network; "" for others.
func addressDomain(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return ""
	}
	return "[" + a.String() + "]"
}

// IsDomain reports whether d is a registrable domain in ASCII form, or an IP address of a
// public network in brackets.
func IsDomain(d string) bool { return d != "" && linkDomain([]byte(d)) == d }
