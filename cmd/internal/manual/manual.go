package manual

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Page is one man page.
type Page struct {
	Name string // of the file: spambloom-report.1
	Text []byte
}

// Pages are those of a command and of all its verbs, in the section of the manual.
// also are pages of other commands, as name(section), for SEE ALSO.
func Pages(root *cobra.Command, section int, also ...string) []Page {
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	root.InitDefaultHelpFlag()
	verbs := slices.DeleteFunc(slices.Clone(root.Commands()), func(c *cobra.Command) bool { return !c.IsAvailableCommand() || c.Name() == "help" })
	see := slices.Clone(also)
	for _, verb := range verbs {
		see = append(see, reference(verb, section))
	}
	pages := []Page{page(root, section, see)}
	for _, verb := range verbs {
		verb.InitDefaultHelpFlag()
		pages = append(pages, page(verb, section, []string{reference(root, section)}))
	}
	return pages
}

// nameOf is the page's name: spambloom-report.
func nameOf(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func reference(cmd *cobra.Command, section int) string {
	return fmt.Sprintf("%s(%d)", nameOf(cmd), section)
}

func page(cmd *cobra.Command, section int, see []string) Page {
	var w writer
	// The date is empty, and so is what stands in the foot of pages without a release.
	w.line(`.TH "%s" "%d" "" "%s"`, escape(strings.ToUpper(nameOf(cmd))), section, cmd.Root().Name())
	w.line(".nh\n.ad l") // words of commands are not to be broken
	w.section("NAME")
	w.line(`%s \- %s`, escape(nameOf(cmd)), escape(cmd.Short))
	w.section("SYNOPSIS")
	for _, use := range synopsis(cmd) {
		w.line(`.B %s`, escape(use))
	}
	sections := split(cmp.Or(cmd.Long, cmd.Short))
	w.section("DESCRIPTION")
	w.blocks(sections[0].blocks)
	w.flags("OPTIONS", cmd.NonInheritedFlags())
	w.flags("OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	for _, s := range sections[1:] {
		w.section(s.title)
		w.blocks(s.blocks)
	}
	if cmd.Example != "" {
		w.section("EXAMPLES")
		w.verbatim(cmd.Example)
	}
	if cmd.HasParent() {
		w.section("ENVIRONMENT AND FILES")
		w.line(`See \fB%s\fR(%d).`, escape(nameOf(cmd.Root())), section)
	}
	if len(see) > 0 {
		w.section("SEE ALSO")
		w.line("%s", strings.Join(references(see), ",\n"))
	}
	return Page{fmt.Sprintf("%s.%d", nameOf(cmd), section), []byte(w.String())}
}

// synopsis is how the command is called.
func synopsis(cmd *cobra.Command) []string {
	if cmd.HasAvailableSubCommands() {
		return []string{cmd.CommandPath() + " COMMAND [ARGUMENTS] [OPTIONS]"}
	}
	use := cmd.UseLine()
	return []string{strings.Replace(use, "[flags]", "[OPTIONS]", 1)}
}

// references sets names of pages as man(7) wants them.
func references(see []string) []string {
	list := make([]string, len(see))
	for i, name := range see {
		name, section, _ := strings.Cut(name, "(")
		list[i] = fmt.Sprintf(`\fB%s\fR(%s`, escape(name), section)
	}
	return list
}

// flags writes a section of options, where there are any.
func (w *writer) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	w.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := `\fB` + escape("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			name = `\fB` + escape("-"+f.Shorthand) + `\fR, ` + name
		}
		if value != "" {
			name += ` \fI` + escape(value) + `\fR`
		}
		w.line(".TP\n%s", name)
		w.line("%s", escape(usage+ofDefault(f)))
	})
}

// ofDefault names a default that is something.
func ofDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "false", "[]", "0s":
		return ""
	}
	return " (default " + f.DefValue + ")"
}
