// Package privacy owns the pseudonyms that the log contains in place of addresses and names if
// log.privacy is true.
package privacy

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spambloom/spambloom/signature"
)

// Pseudonyms replaces addresses in the log with pseudonyms if log.privacy is true. One
// address has one pseudonym, so that an administrator can follow one user. It is made with
// a key of this site, so that nobody else can look up the address. The zero value has no
// key yet. It is safe for concurrent use.
type Pseudonyms struct {
	IsOn  atomic.Bool
	keyed atomic.Pointer[signature.Keyed]
}

// purposePseudonym separates pseudonyms from other values made with the site's key.
const purposePseudonym = "spambloom pseudonym 1\x00"

// SetKey sets a secret of this site, of 32 bytes.
func (p *Pseudonyms) SetKey(secret []byte) { p.keyed.Store(signature.NewKeyed(secret)) }

// Name returns the pseudonym of an address, a name or a domain while privacy is on, else itself.
func (p *Pseudonyms) Name(name string) string {
	if !p.IsOn.Load() || name == "" {
		return name
	}
	return p.of(name)
}

// of returns the pseudonym of an address or a name: "h:" and 12 hex digits. Spellings of
// the same address have the same pseudonym. Traps keep their names.
func (p *Pseudonyms) of(name string) string {
	if a, err := netip.ParseAddrPort(name); err == nil {
		return fmt.Sprintf("%s:%d", p.of(a.Addr().String()), a.Port())
	}
	canonical := strings.ToLower(strings.Trim(name, "<> \t"))
	if a, err := netip.ParseAddr(canonical); err == nil {
		canonical = a.Unmap().String()
	}
	switch keyed := p.keyed.Load(); {
	case canonical == "", canonical == "invalid ip", strings.HasPrefix(canonical, "trap:"):
		return name
	case keyed == nil:
		return "h:unknown"
	default:
		sum := keyed.Sum([]byte(purposePseudonym), []byte(canonical))
		return "h:" + hex.EncodeToString(sum[:6])
	}
}

func cutLast(s string, c byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, c); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

var (
	// personal are the log's keys whose values consist of a person's name or address.
	// Message-IDs contain senders' machines and often addresses, and can be looked up in
	// other logs. The domain of a known sender (spared) may be one person's.
	personal = []string{"client", "from", "to", "message_id", "reporter", "by", "as", "of", "uid", "spared"}
	// impersonal are keys whose values may look like personal addresses but are not:
	// listening addresses and files. Configuration keys are treated likewise.
	impersonal = []string{"listener", "listen", "milter", "spamd", "control", "http", "file", "state", "path", "folder", "maildir", "command", "version"}
	// prose are keys of sentences, which may repeat a name from elsewhere in the line.
	prose = []string{"error", "reason"}

	mailAddressIn = regexp.MustCompile(`(inet6?:)?(?:"[^"]*"|\\"[^"]*\\"|[^\s<>()\[\],;:="'\\]+)@(?:\[[^\]\s]*\]|[^\s<>()\[\],;:="'\\]+)`)
	// slipIn matches an invalid value of a policy or rule in an error: mostly a mistyped
	// address.
	slipIn      = regexp.MustCompile(`(: (?:policy|allow)\.\w+: )("(?:[^"\\]|\\.)*")`)
	ipAddressIn = regexp.MustCompile(`[0-9A-Fa-f]*[:.][0-9A-Fa-f:.]+`)
)

// text replaces all mail and IP addresses in a text with pseudonyms. Loopback and listening
// addresses stay.
func (p *Pseudonyms) text(s string) string {
	s = slipIn.ReplaceAllStringFunc(s, func(found string) string {
		parts := slipIn.FindStringSubmatch(found)
		return parts[1] + p.of(parts[2])
	})
	if strings.Contains(s, "@") {
		s = mailAddressIn.ReplaceAllStringFunc(s, func(found string) string {
			if strings.HasPrefix(found, "inet") && strings.Contains(found, ":") {
				return found
			}
			return p.of(strings.ReplaceAll(found, `\"`, `"`))
		})
	}
	if strings.ContainsAny(s, ".:") {
		s = ipAddressIn.ReplaceAllStringFunc(s, p.ipAddress)
	}
	return s
}

// ipAddress returns a pseudonym if found is an IP address, possibly followed by a port or a
// full stop.
func (p *Pseudonyms) ipAddress(found string) string {
	address := strings.TrimRight(found, ".:")
	a, err := netip.ParseAddr(address)
	rest := found[len(address):]
	if err != nil {
		host, port, _ := cutLast(address, ':')
		if a, err = netip.ParseAddr(host); err != nil {
			return found
		}
		address, rest = host, ":"+port+rest
	}
	if a.IsLoopback() || a.IsUnspecified() {
		return found
	}
	return p.of(address) + rest
}

// attr returns an attribute without personal addresses.
func (p *Pseudonyms) attr(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch {
	case a.Value.Kind() == slog.KindGroup:
		a.Value = slog.GroupValue(p.attrs(a.Value.Group())...)
	case slices.Contains(personal, a.Key):
		a.Value = each(a.Value, p.of)
	case strings.Contains(a.Key, ".") || slices.Contains(impersonal, a.Key):
	case a.Value.Kind() == slog.KindString || a.Value.Kind() == slog.KindAny:
		a.Value = each(a.Value, p.text)
	}
	return a
}

// each applies change to a text, to each of several, or to the text form of any other
// value.
func each(v slog.Value, change func(string) string) slog.Value {
	if list, ok := v.Any().([]string); ok {
		changed := make([]string, len(list))
		for i, s := range list {
			changed[i] = change(s)
		}
		return slog.AnyValue(changed)
	}
	before := written(v)
	if after := change(before); after != before {
		return slog.StringValue(after)
	}
	return v
}

func written(v slog.Value) string {
	if v.Kind() == slog.KindAny {
		return fmt.Sprintf("%+v", v.Any())
	}
	return v.String()
}

func (p *Pseudonyms) attrs(list []slog.Attr) []slog.Attr {
	names := namesIn(nil, list)
	changed := make([]slog.Attr, 0, len(list))
	for _, a := range list {
		a = p.attr(a)
		if len(names) > 0 && slices.Contains(prose, a.Key) {
			a.Value = each(a.Value, func(s string) string { return p.sentence(s, names) })
		}
		changed = append(changed, a)
	}
	return changed
}

// namesIn returns the logins among the personal values of attributes. Values of other forms
// are recognised by their form.
func namesIn(names []string, list []slog.Attr) []string {
	for _, a := range list {
		v := a.Value.Resolve()
		switch {
		case v.Kind() == slog.KindGroup:
			names = namesIn(names, v.Group())
		case v.Kind() == slog.KindString && v.String() != "" && slices.Contains(personal, a.Key):
			names = append(names, v.String())
		}
	}
	return names
}

// sentence replaces the names in a text of several words with pseudonyms.
func (p *Pseudonyms) sentence(s string, names []string) string {
	if !strings.Contains(s, " ") {
		return s
	}
	for _, name := range names {
		whole := regexp.MustCompile(`(^|[^\pL\pN_])` + regexp.QuoteMeta(name) + `($|[^\pL\pN_])`)
		s = whole.ReplaceAllString(s, "${1}"+strings.ReplaceAll(p.of(name), "$", "$$")+"${2}")
	}
	return s
}

// Handler writes lines with pseudonyms while privacy is on.
func (p *Pseudonyms) Handler(next slog.Handler) slog.Handler {
	return &discreetHandler{pseudonyms: p, open: next, discreet: next}
}

// discreetHandler keeps the attributes added by With in both forms, because a reload may
// switch between them.
type discreetHandler struct {
	pseudonyms     *Pseudonyms
	open, discreet slog.Handler
}

func (h *discreetHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.open.Enabled(ctx, level)
}

func (h *discreetHandler) Handle(ctx context.Context, r slog.Record) error {
	if !h.pseudonyms.IsOn.Load() {
		return h.open.Handle(ctx, r)
	}
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool { attrs = append(attrs, a); return true })
	changed := slog.NewRecord(r.Time, r.Level, h.pseudonyms.text(r.Message), r.PC)
	changed.AddAttrs(h.pseudonyms.attrs(attrs)...)
	return h.discreet.Handle(ctx, changed)
}

func (h *discreetHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &discreetHandler{h.pseudonyms, h.open.WithAttrs(attrs), h.discreet.WithAttrs(h.pseudonyms.attrs(attrs))}
}

func (h *discreetHandler) WithGroup(name string) slog.Handler {
	return &discreetHandler{h.pseudonyms, h.open.WithGroup(name), h.discreet.WithGroup(name)}
}
