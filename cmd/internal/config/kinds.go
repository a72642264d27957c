package config

import (
	"fmt"
	"io/fs"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is a type of value: how it gets from the decoder's any into its field,
// and back out for the example and the log.
type kind struct {
	allowed string // ends every error
	parse   func(c *Config, v any) error
	get     func(c *Config) any // as the decoder would give it
}

// set checks v and stores it. The error names v and what is allowed.
func (k kind) set(c *Config, v any) error {
	if err := k.parse(c, v); err != nil {
		return fmt.Errorf("%w; allowed: %s", err, k.allowed)
	}
	return nil
}

func wrong(v any, what string) error { return fmt.Errorf("%s is not %s", literal(v), what) }

func text(field func(*Config) *string, allowed string) kind {
	return kind{
		allowed: allowed,
		parse: func(c *Config, v any) error {
			s, ok := v.(string)
			if !ok {
				return wrong(v, "a text in quotes")
			}
			if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				return fmt.Errorf("%s holds a control character", literal(v))
			}
			*field(c) = s
			return nil
		},
		get: func(c *Config) any { return *field(c) },
	}
}

func siteName(field func(*Config) *string) kind { return fitName(field, "a site name") }

func fitName(field func(*Config) *string, what string) kind {
	k := text(field, `1 to 64 of a-z A-Z 0-9 . _ -, no dot first`)
	parse := k.parse
	k.parse = func(c *Config, v any) error {
		if s, ok := v.(string); ok && s != "" && s != FitName(s) {
			return wrong(v, what)
		}
		return parse(c, v)
	}
	return k
}

// FitName makes a valid site name of any text, such as a host name: what is not
// allowed becomes "-", what is too long is cut.
func FitName(s string) string {
	fit := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("._-", r):
			return r
		}
		return '-'
	}, s)
	switch {
	case fit == "":
		return "site"
	case fit[0] == '.':
		fit = "-" + fit[1:]
	}
	return fit[:min(len(fit), 64)]
}

func texts(field func(*Config) *[]string, allowed string) kind {
	return kind{
		allowed: "a list of " + allowed,
		parse: func(c *Config, v any) error {
			list, err := stringList(v)
			if err != nil {
				return err
			}
			*field(c) = list
			return nil
		},
		get: func(c *Config) any { return anyList(*field(c), func(s string) string { return s }) },
	}
}

type prefixList = []netip.Prefix

func prefixes(field func(*Config) *prefixList) kind {
	return kind{
		allowed: `a list of networks such as "192.0.2.0/24" or "2001:db8::/32"`,
		parse: func(c *Config, v any) error {
			list, err := stringList(v)
			if err != nil {
				return err
			}
			nets := make(prefixList, 0, len(list))
			for _, s := range list {
				p, err := parseNetwork(s)
				if err != nil {
					return err
				}
				nets = append(nets, p)
			}
			*field(c) = nets
			return nil
		},
		get: func(c *Config) any { return anyList(*field(c), netip.Prefix.String) },
	}
}

// parseNetwork takes a prefix, or an address for the network of one host. Bits
// behind the prefix are refused: they are a slip of the pen more often than
// not.
func parseNetwork(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, wrong(s, "a network")
	}
	if p.Masked() != p {
		return p, fmt.Errorf("%s is not a network: did you mean %q?", literal(s), p.Masked())
	}
	return p, nil
}

func boolean(field func(*Config) *bool) kind {
	return kind{
		allowed: "true, false",
		parse: func(c *Config, v any) error {
			b, ok := v.(bool)
			if !ok {
				return wrong(v, "a truth value")
			}
			*field(c) = b
			return nil
		},
		get: func(c *Config) any { return *field(c) },
	}
}

func choice(field func(*Config) *string, among ...string) kind {
	return kind{
		allowed: strings.Join(among, ", "),
		parse: func(c *Config, v any) error {
			s, ok := v.(string)
			if !ok || !slices.Contains(among, s) {
				return wrong(v, "one of the choices")
			}
			*field(c) = s
			return nil
		},
		get: func(c *Config) any { return *field(c) },
	}
}

// choiceOrNone is a choice, or "" for what stands elsewhere.
func choiceOrNone(field func(*Config) *string, among ...string) kind {
	k := choice(field, append([]string{""}, among...)...)
	k.allowed = strings.Join(among, ", ")
	return k
}

// mode is who may use a socket, in octal digits. Its owner always may.
func mode(field func(*Config) *fs.FileMode) kind {
	return kind{
		allowed: `an octal mode in quotes from "0600" to "0777"`,
		parse: func(c *Config, v any) error {
			s, _ := v.(string)
			n, err := strconv.ParseUint(s, 8, 32)
			if err != nil || n > 0o777 || n&0o600 != 0o600 {
				return wrong(v, "a mode of a socket")
			}
			*field(c) = fs.FileMode(n)
			return nil
		},
		get: func(c *Config) any { return fmt.Sprintf("%04o", *field(c)) },
	}
}

func integer(field func(*Config) *int64, least, most int64) kind {
	return kind{
		allowed: fmt.Sprintf("a whole number from %s to %s", literal(least), literal(most)),
		parse: func(c *Config, v any) error {
			n, ok := v.(int64)
			if !ok {
				return wrong(v, "a whole number")
			}
			if n < least || n > most {
				return fmt.Errorf("%s is out of range", literal(n))
			}
			*field(c) = n
			return nil
		},
		get: func(c *Config) any { return *field(c) },
	}
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, !math.IsNaN(n)
	case int64:
		return float64(n), true
	}
	return 0, false
}

func fraction(field func(*Config) *float64, least, most float64) kind {
	return kind{
		allowed: fmt.Sprintf("a number from %s to %s", literal(least), literal(most)),
		parse: func(c *Config, v any) error {
			n, ok := number(v)
			if !ok {
				return wrong(v, "a number")
			}
			if n < least || n > most {
				return fmt.Errorf("%s is out of range", literal(v))
			}
			*field(c) = n
			return nil
		},
		get: func(c *Config) any { return *field(c) },
	}
}

// weight is what reporters' words count, and what it takes of them.
func weight(field func(*Config) *float64, least, most float64) kind {
	return kind{
		allowed: fmt.Sprintf("a number from %v to %v", least, most),
		parse: func(c *Config, v any) error {
			n, ok := number(v)
			if !ok {
				return wrong(v, "a number")
			}
			if !(n >= least && n <= most) {
				return fmt.Errorf("%s is out of range", literal(v))
			}
			*field(c) = n
			return nil
		},
		get: func(c *Config) any { return *field(c) },
	}
}

func duration(field func(*Config) *time.Duration, least, most time.Duration) kind {
	return kind{
		allowed: fmt.Sprintf("a duration from %q to %q, in whole seconds", showDuration(least), showDuration(most)),
		parse: func(c *Config, v any) error {
			s, ok := v.(string)
			d, err := time.ParseDuration(s)
			if !ok || err != nil {
				return wrong(v, "a duration")
			}
			if d < least || d > most || d%time.Second != 0 {
				return fmt.Errorf("%s is out of range", literal(v))
			}
			*field(c) = d
			return nil
		},
		get: func(c *Config) any { return showDuration(*field(c)) },
	}
}

// durationOrNone is a duration, or 0s.
func durationOrNone(field func(*Config) *time.Duration, least, most time.Duration) kind {
	k := duration(field, least, most)
	parse := k.parse
	k.allowed = `"0s", or ` + k.allowed
	k.parse = func(c *Config, v any) error {
		if s, ok := v.(string); ok {
			if d, err := time.ParseDuration(s); err == nil && d == 0 {
				*field(c) = 0
				return nil
			}
		}
		return parse(c, v)
	}
	return k
}

// showDuration leaves out the zero minutes and seconds at the end.
func showDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// units of sizes, the largest first.
var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func size(field func(*Config) *int64, least, most int64) kind {
	return kind{
		allowed: fmt.Sprintf("a size from %q to %q, in B, KiB, MiB or GiB", showSize(least), showSize(most)),
		parse: func(c *Config, v any) error {
			s, _ := v.(string)
			n, ok := parseSize(s)
			if !ok {
				return wrong(v, "a size with its unit")
			}
			if n < least || n > most {
				return fmt.Errorf("%s is out of range", literal(v))
			}
			*field(c) = n
			return nil
		},
		get: func(c *Config) any { return showSize(*field(c)) },
	}
}

func parseSize(s string) (int64, bool) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.bytes {
			return 0, false
		}
		return n * u.bytes, true
	}
	return 0, false
}

func showSize(n int64) string {
	for _, u := range units {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

func stringList(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, wrong(v, "a list")
	}
	out := make([]string, 0, len(list))
	for _, e := range list {
		s, ok := e.(string)
		if !ok || s == "" {
			return nil, wrong(e, "a text in quotes")
		}
		out = append(out, s)
	}
	return out, nil
}

func anyList[T any](list []T, show func(T) string) []any {
	out := make([]any, 0, len(list))
	for _, e := range list {
		out = append(out, show(e))
	}
	return out
}
