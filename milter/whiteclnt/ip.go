package whiteclnt

import (
	"fmt"
	"net/netip"
	"strings"
)

// parseIP parses the value of the type ip: an address, a block or a range. IsIP is false
// for a host name or another type.
func parseIP(kind, value string) (networks []netip.Prefix, isIP bool, err error) {
	if kind != "ip" {
		return nil, false, nil
	}
	end := strings.IndexAny(value, "/-")
	if end < 0 {
		end = len(value)
	}
	low, err := netip.ParseAddr(value[:end])
	switch {
	case err != nil && isHost(value):
		return nil, false, nil
	case err != nil || low.Zone() != "":
		return nil, false, fmt.Errorf("%q is neither an address nor a host name", value)
	case end == len(value):
		low = low.Unmap()
		return []netip.Prefix{netip.PrefixFrom(low, low.BitLen())}, true, nil
	case value[end] == '/':
		return parseBlock(value)
	}
	high, err := netip.ParseAddr(value[end+1:])
	low, high = low.Unmap(), high.Unmap()
	if err != nil || high.Zone() != "" || low.BitLen() != high.BitLen() || high.Less(low) {
		return nil, false, fmt.Errorf("%q is not a range of addresses", value)
	}
	return blocks(low, high), true, nil
}

// parseBlock parses an address with a prefix length.
func parseBlock(value string) (networks []netip.Prefix, isIP bool, err error) {
	block, err := netip.ParsePrefix(value)
	if err != nil || block.Bits() == 0 {
		return nil, false, fmt.Errorf("%q is not a block of addresses", value)
	}
	if block.Masked() != block {
		return nil, false, fmt.Errorf("%q does not begin at its boundary; use %s", value, block.Masked())
	}
	return []netip.Prefix{block}, true, nil
}

// blocks returns the blocks that make up the range: at most two of each length. Their sizes rise and
// then fall, so each begins with the length of the one before.
func blocks(low, high netip.Addr) (networks []netip.Prefix) {
	for bits := low.BitLen(); low.IsValid() && !high.Less(low); { // Next of the last address is not valid
		fits := func(bits int) bool {
			block := netip.PrefixFrom(low, bits)
			return block.Masked() == block && !high.Less(last(block))
		}
		for bits > 1 && fits(bits-1) {
			bits--
		}
		for !fits(bits) {
			bits++
		}
		block := netip.PrefixFrom(low, bits)
		networks, low = append(networks, block), last(block).Next()
	}
	return networks
}

// last returns the highest address of a block.
func last(block netip.Prefix) netip.Addr {
	bytes := block.Addr().AsSlice()
	for bit := block.Bits(); bit < 8*len(bytes); bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	addr, _ := netip.AddrFromSlice(bytes)
	return addr
}

// isHost reports whether a text has the form of a host name. Its last label must not be a
// number: that would be a mistyped address.
func isHost(text string) bool {
	text = strings.TrimSuffix(text, ".")
	top := text[strings.LastIndexByte(text, '.')+1:]
	return domain(text) != "" && strings.Trim(top, "0123456789") != ""
}
