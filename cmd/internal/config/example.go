package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Example returns contrib/spambloom.toml: a file with every key, its default and its
// documentation. All keys are commented out, so that an administrator's file contains only
// differences.
func Example() string {
	var b strings.Builder
	b.WriteString("# spambloom.toml: the configuration of spambloomd, with every key and its default.\n" +
		"# Durations are written like \"90m\" or \"24h\", sizes like \"10MiB\". Keys marked\n" +
		"# [HUP] are applied by a running daemon on SIGHUP; the others need a restart.\n" +
		"# Check a changed file with: spambloomd -t -c FILE\n")
	for _, s := range sections {
		fmt.Fprintf(&b, "\n%s%s\n", commented(s.doc), heading(s.name))
		for _, k := range keys {
			if k.section == s.name {
				b.WriteString("\n" + k.lines())
			}
		}
	}
	return b.String()
}

// heading returns the heading of a section. For a list section it is commented out,
// because it would add a table.
func heading(section string) string {
	if isList(section) {
		return "#[[" + section + "]]"
	}
	return "[" + section + "]"
}

func (k key) lines() string {
	doc, value := k.doc, k.def
	if k.live {
		doc += " [HUP]"
	}
	if k.example != nil {
		value = k.example
	}
	return fmt.Sprintf("%s#%s = %s\n", commented(doc), k.name, literal(value))
}

func commented(doc string) string {
	return "# " + strings.ReplaceAll(doc, "\n", "\n# ") + "\n"
}

// literal formats a value as in TOML.
func literal(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case int64:
		return grouped(v)
	case float64:
		if s := strconv.FormatFloat(v, 'g', -1, 64); strings.ContainsAny(s, ".e") {
			return strings.Replace(s, "e-0", "e-", 1)
		}
		return strconv.FormatFloat(v, 'f', 1, 64)
	case []any:
		parts := make([]string, 0, len(v))
		for _, e := range v {
			parts = append(parts, literal(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return fmt.Sprint(v)
	}
}

// plain formats a value without TOML's quotes and brackets for the log, which adds its own
// quotes.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		return strings.TrimSuffix(fmt.Sprintln(v...), "\n")
	default:
		return literal(v)
	}
}

// grouped separates thousands from 10,000 on: 20_000_000.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	if n < 10_000 {
		return s
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "_" + s[i:]
	}
	return s
}
