package config

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is a type of value. It converts between the decoder's any and the field, in both
// directions.
type kind struct {
	allowed string // the end of every error
	parse   func(c *Config, v any) error
	get     func(c *Config) any // as returned by the decoder
}

// set checks v and stores it. The error contains v and the allowed values.
func (k kind) set(c *Config, v any) error {
	if err := k.parse(c, v); err != nil {
		return fmt.Errorf("%w; allowed: %s", err, k.allowed)
	}
	return nil
}

func wrong(v any, what string) error { return fmt.Errorf("%s is not %s", literal(v), what) }

// kindOf returns a kind. read converts the decoder's any for the field, and show converts
// back.
func kindOf[T any](field func(*Config) *T, allowed string, read func(v any) (T, error), show func(T) any) kind {
	return kind{
		allowed: allowed,
		parse: func(c *Config, v any) error {
			value, err := read(v)
			if err == nil {
				*field(c) = value
			}
			return err
		},
		get: func(c *Config) any { return show(*field(c)) },
	}
}

// same shows a value unchanged.
func same[T any](v T) any { return v }

// within rejects a value out of bounds; v is its text form.
func within[N cmp.Ordered](n, least, most N, v any) (N, error) {
	if n < least || n > most {
		return n, fmt.Errorf("%s is out of range", literal(v))
	}
	return n, nil
}

func text(field func(*Config) *string, allowed string) kind {
	return kindOf(field, allowed, func(v any) (string, error) {
		s, ok := v.(string)
		if !ok {
			return "", wrong(v, "a quoted string")
		}
		if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", fmt.Errorf("%s contains a control character", literal(v))
		}
		return s, nil
	}, same)
}

func siteName(field func(*Config) *string) kind { return fitName(field, "a site name") }

func fitName(field func(*Config) *string, what string) kind {
	k := text(field, `1 to 64 of a-z A-Z 0-9 . _ -, not starting with a dot`)
	parse := k.parse
	k.parse = func(c *Config, v any) error {
		if s, ok := v.(string); ok && s != "" && s != FitName(s) {
			return wrong(v, what)
		}
		return parse(c, v)
	}
	return k
}

// FitName turns any text, such as a host name, into a valid site name: it replaces
// characters that are not allowed with "-" and truncates long names.
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
	return kindOf(field, "a list of "+allowed, stringList, showTexts)
}

func showTexts(list []string) any { return anyList(list, func(s string) string { return s }) }

type prefixList = []netip.Prefix

func prefixes(field func(*Config) *prefixList) kind {
	return kindOf(field, `a list of networks such as "192.0.2.0/24" or "2001:db8::/32"`, func(v any) (prefixList, error) {
		list, err := stringList(v)
		if err != nil {
			return nil, err
		}
		nets := make(prefixList, 0, len(list))
		for _, s := range list {
			p, err := parseNetwork(s)
			if err != nil {
				return nil, err
			}
			nets = append(nets, p)
		}
		return nets, nil
	}, func(nets prefixList) any { return anyList(nets, netip.Prefix.String) })
}

// parseNetwork parses a prefix, or an address as the network of one host. It rejects bits
// after the prefix, which are mostly a typing error.
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
	return kindOf(field, "true, false", func(v any) (bool, error) {
		b, ok := v.(bool)
		if !ok {
			return false, wrong(v, "a boolean")
		}
		return b, nil
	}, same)
}

func choice(field func(*Config) *string, among ...string) kind {
	return kindOf(field, strings.Join(among, ", "), func(v any) (string, error) {
		s, ok := v.(string)
		if !ok || !slices.Contains(among, s) {
			return "", wrong(v, "one of the choices")
		}
		return s, nil
	}, same)
}

// choiceOrNone is a choice, or "" for an inherited value.
func choiceOrNone(field func(*Config) *string, among ...string) kind {
	k := choice(field, append([]string{""}, among...)...)
	k.allowed = strings.Join(among, ", ")
	return k
}

// mode is the mode of a socket in octal digits. Its owner always has access.
func mode(field func(*Config) *fs.FileMode) kind {
	return kindOf(field, `an octal mode in quotes from "0600" to "0777"`, func(v any) (fs.FileMode, error) {
		s, _ := v.(string)
		n, err := strconv.ParseUint(s, 8, 32)
		if err != nil || n > 0o777 || n&0o600 != 0o600 {
			return 0, wrong(v, "a socket mode")
		}
		return fs.FileMode(n), nil
	}, func(m fs.FileMode) any { return fmt.Sprintf("%04o", m) })
}

func integer(field func(*Config) *int64, least, most int64) kind {
	allowed := fmt.Sprintf("a whole number from %s to %s", literal(least), literal(most))
	return kindOf(field, allowed, func(v any) (int64, error) {
		n, ok := v.(int64)
		if !ok {
			return 0, wrong(v, "a whole number")
		}
		return within(n, least, most, v)
	}, same)
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
	allowed := fmt.Sprintf("a number from %s to %s", literal(least), literal(most))
	return kindOf(field, allowed, func(v any) (float64, error) {
		n, ok := number(v)
		if !ok {
			return 0, wrong(v, "a number")
		}
		return within(n, least, most, v)
	}, same)
}

// weight is a weight of reporters, or a sum of weights.
func weight(field func(*Config) *float64, least, most float64) kind {
	k := fraction(field, least, most)
	k.allowed = fmt.Sprintf("a number from %v to %v", least, most)
	return k
}

func duration(field func(*Config) *time.Duration, least, most time.Duration) kind {
	allowed := fmt.Sprintf("a duration from %q to %q, in whole seconds", showDuration(least), showDuration(most))
	return kindOf(field, allowed, func(v any) (time.Duration, error) {
		s, ok := v.(string)
		d, err := time.ParseDuration(s)
		if !ok || err != nil {
			return 0, wrong(v, "a duration")
		}
		if d%time.Second != 0 {
			return 0, fmt.Errorf("%s is out of range", literal(v))
		}
		return within(d, least, most, v)
	}, func(d time.Duration) any { return showDuration(d) })
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

// showDuration omits trailing zero minutes and seconds.
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

// units are the units of sizes, the largest first.
var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func size(field func(*Config) *int64, least, most int64) kind {
	allowed := fmt.Sprintf("a size from %q to %q, in B, KiB, MiB or GiB", showSize(least), showSize(most))
	return kindOf(field, allowed, func(v any) (int64, error) {
		s, _ := v.(string)
		n, ok := parseSize(s)
		if !ok {
			return 0, wrong(v, "a size with its unit")
		}
		return within(n, least, most, v)
	}, func(n int64) any { return showSize(n) })
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
			return nil, wrong(e, "a quoted string")
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
