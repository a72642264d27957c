package config

import (
	"fmt"
	"strings"

	"github.com/spambloom/spambloom/cmd/internal/config/value"
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
	doc, shown := k.doc, k.def
	if k.live {
		doc += " [HUP]"
	}
	if k.example != nil {
		shown = k.example
	}
	return fmt.Sprintf("%s#%s = %s\n", commented(doc), k.name, value.Literal(shown))
}

func commented(doc string) string {
	return "# " + strings.ReplaceAll(doc, "\n", "\n# ") + "\n"
}
