// Package value owns the types of value in the configuration file: how each is read, checked
// and shown, and the sentence that names what is allowed. Keys are those of package config.
package value

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is a type of value of a configuration file. It converts between the decoder's any and
// the type of a field, in both directions.
type Kind[T any] struct {
	Allowed string // the end of every error
	Read    func(v any) (T, error)
	Show    func(T) any // as returned by the decoder
}

func wrong(v any, what string) error { return fmt.Errorf("%s is not %s", Literal(v), what) }

// checked returns k with a check before the value is read.
func (k Kind[T]) checked(check func(v any) error) Kind[T] {
	read := k.Read
	k.Read = func(v any) (value T, err error) {
		if err := check(v); err != nil {
			return value, err
		}
		return read(v)
	}
	return k
}

// same shows a value unchanged.
func same[T any](v T) any { return v }

// within rejects a value out of bounds; v is its text form.
func within[N cmp.Ordered](n, least, most N, v any) (N, error) {
	if n < least || n > most {
		return n, fmt.Errorf("%s is out of range", Literal(v))
	}
	return n, nil
}

// Text is a text without control characters.
func Text(allowed string) Kind[string] {
	return Kind[string]{allowed, func(v any) (string, error) {
		s, ok := v.(string)
		if !ok {
			return "", wrong(v, "a quoted string")
		}
		if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", fmt.Errorf("%s contains a control character", Literal(v))
		}
		return s, nil
	}, same[string]}
}

// secret matches a key or token that stands in the place of its file's path.
var secret = regexp.MustCompile(`(^|[^/.\w])[0-9a-fA-F]{64}($|[^/.\w])|ed25519-private:|spambloom1-|-----BEGIN`)

// Path is the path of a file. A secret in its place would be shown in logs and errors.
func Path() Kind[string] {
	return Text("a path").checked(func(v any) error {
		if secret.MatchString(fmt.Sprint(v)) {
			return errors.New("the value is a secret: write it into a file, and the file's path here")
		}
		return nil
	})
}

// Name is a name of the given kind, as FitName makes it, or "".
func Name(what string) Kind[string] {
	return Text(`1 to 64 of a-z A-Z 0-9 . _ -, not starting with a dot`).checked(func(v any) error {
		if s, ok := v.(string); ok && s != "" && s != FitName(s) {
			return wrong(v, what)
		}
		return nil
	})
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

// Texts is a list of texts.
func Texts(allowed string) Kind[[]string] {
	return Kind[[]string]{"a list of " + allowed, stringList, showTexts}
}

func showTexts(list []string) any { return anyList(list, func(s string) string { return s }) }

// Networks is a list of networks and addresses.
func Networks() Kind[[]netip.Prefix] {
	return Kind[[]netip.Prefix]{`a list of networks such as "192.0.2.0/24" or "2001:db8::/32"`, func(v any) ([]netip.Prefix, error) {
		list, err := stringList(v)
		if err != nil {
			return nil, err
		}
		nets := make([]netip.Prefix, 0, len(list))
		for _, s := range list {
			p, err := parseNetwork(s)
			if err != nil {
				return nil, err
			}
			nets = append(nets, p)
		}
		return nets, nil
	}, func(nets []netip.Prefix) any { return anyList(nets, netip.Prefix.String) }}
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
		return p, fmt.Errorf("%s is not a network: did you mean %q?", Literal(s), p.Masked())
	}
	return p, nil
}

// Boolean is true or false.
func Boolean() Kind[bool] {
	return Kind[bool]{"true, false", func(v any) (bool, error) {
		b, ok := v.(bool)
		if !ok {
			return false, wrong(v, "a boolean")
		}
		return b, nil
	}, same[bool]}
}

// Choice is one of several texts.
func Choice(among ...string) Kind[string] {
	return Kind[string]{strings.Join(among, ", "), func(v any) (string, error) {
		s, ok := v.(string)
		if !ok || !slices.Contains(among, s) {
			return "", wrong(v, "one of the choices")
		}
		return s, nil
	}, same[string]}
}

// ChoiceOrNone is a choice, or "" for an inherited value.
func ChoiceOrNone(among ...string) Kind[string] {
	k := Choice(append([]string{""}, among...)...)
	k.Allowed = strings.Join(among, ", ")
	return k
}

// Mode is the mode of a socket in octal digits. Its owner always has access.
func Mode() Kind[fs.FileMode] {
	return Kind[fs.FileMode]{`an octal mode in quotes from "0600" to "0777"`, func(v any) (fs.FileMode, error) {
		s, _ := v.(string)
		n, err := strconv.ParseUint(s, 8, 32)
		if err != nil || n > 0o777 || n&0o600 != 0o600 {
			return 0, wrong(v, "a socket mode")
		}
		return fs.FileMode(n), nil
	}, func(m fs.FileMode) any { return fmt.Sprintf("%04o", m) }}
}

// Integer is a whole number within bounds.
func Integer(least, most int64) Kind[int64] {
	allowed := fmt.Sprintf("a whole number from %s to %s", Literal(least), Literal(most))
	return Kind[int64]{allowed, func(v any) (int64, error) {
		n, ok := v.(int64)
		if !ok {
			return 0, wrong(v, "a whole number")
		}
		return within(n, least, most, v)
	}, same[int64]}
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

// Fraction is a number within bounds.
func Fraction(least, most float64) Kind[float64] {
	allowed := fmt.Sprintf("a number from %s to %s", Literal(least), Literal(most))
	return Kind[float64]{allowed, func(v any) (float64, error) {
		n, ok := number(v)
		if !ok {
			return 0, wrong(v, "a number")
		}
		return within(n, least, most, v)
	}, same[float64]}
}

// Weight is a weight of reporters, or a sum of weights.
func Weight(least, most float64) Kind[float64] {
	k := Fraction(least, most)
	k.Allowed = fmt.Sprintf("a number from %v to %v", least, most)
	return k
}

// Duration is a duration in whole seconds, within bounds.
func Duration(least, most time.Duration) Kind[time.Duration] {
	allowed := fmt.Sprintf("a duration from %q to %q, in whole seconds", showDuration(least), showDuration(most))
	return Kind[time.Duration]{allowed, func(v any) (time.Duration, error) {
		s, ok := v.(string)
		d, err := time.ParseDuration(s)
		if !ok || err != nil {
			return 0, wrong(v, "a duration")
		}
		if d%time.Second != 0 {
			return 0, fmt.Errorf("%s is out of range", Literal(v))
		}
		return within(d, least, most, v)
	}, func(d time.Duration) any { return showDuration(d) }}
}

// DurationOrNone is a duration, or 0s.
func DurationOrNone(least, most time.Duration) Kind[time.Duration] {
	k := Duration(least, most)
	k.Allowed = `"0s", or ` + k.Allowed
	read := k.Read
	k.Read = func(v any) (time.Duration, error) {
		if s, ok := v.(string); ok {
			if d, err := time.ParseDuration(s); err == nil && d == 0 {
				return 0, nil
			}
		}
		return read(v)
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

// Size is a number of bytes with its unit, within bounds.
func Size(least, most int64) Kind[int64] {
	allowed := fmt.Sprintf("a size from %q to %q, in B, KiB, MiB or GiB", ShowSize(least), ShowSize(most))
	return Kind[int64]{allowed, func(v any) (int64, error) {
		s, _ := v.(string)
		n, ok := parseSize(s)
		if !ok {
			return 0, wrong(v, "a size with its unit")
		}
		return within(n, least, most, v)
	}, func(n int64) any { return ShowSize(n) }}
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

// ShowSize formats a size in the largest unit that divides it.
func ShowSize(n int64) string {
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

// Threshold is a whole number of at least 2, or 0 for none.
func Threshold() Kind[int64] {
	k := Integer(2, 1_000_000_000)
	k.Allowed = "0, or " + k.Allowed
	read := k.Read
	k.Read = func(v any) (int64, error) {
		if v == int64(0) {
			return 0, nil
		}
		return read(v)
	}
	return k
}

// Folder is an absolute path, cleaned, or "" for none.
func Folder() Kind[string] {
	k := Text(`an absolute path such as "/var/mail/trap"`)
	read := k.Read
	k.Read = func(v any) (string, error) {
		if s, ok := v.(string); ok && s != "" {
			if !filepath.IsAbs(s) {
				return "", wrong(v, "an absolute path")
			}
			v = filepath.Clean(s)
		}
		return read(v)
	}
	return k
}

// RedisURL is a URL that contains a password. No error shows it.
func RedisURL() Kind[string] {
	k := Text(`a URL such as "redis://127.0.0.1:6379/0"`)
	read := k.Read
	k.Read = func(v any) (string, error) {
		if _, isText := v.(string); !isText {
			return "", errors.New("value is not a quoted string")
		}
		s, err := read(v)
		if err != nil {
			return "", errors.New("value contains a control character")
		}
		return s, nil
	}
	return k
}
