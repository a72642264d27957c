package value

import (
	"fmt"
	"strconv"
	"strings"
)

// Literal formats a value as in TOML.
func Literal(v any) string {
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
			parts = append(parts, Literal(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return fmt.Sprint(v)
	}
}

// Plain formats a value without TOML's quotes and brackets for the log, which adds its own
// quotes.
func Plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		return strings.TrimSuffix(fmt.Sprintln(v...), "\n")
	default:
		return Literal(v)
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
