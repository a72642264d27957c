package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groups are the headings of the help, with their verbs in the order of their use. A verb of
// another build may be missing.
var groups = []struct {
	title string
	verbs []string
}{
	{"Everyday", []string{"check", "report", "revoke", "explain", "status", "top", "web", "flush"}},
	{"Reporters", []string{"reports", "reporters", "settle", "undo", "token"}},
	{"Exceptions on this site", []string{"never", "retouch", "learn"}},
	{"Federation", []string{"invite", "join", "sites", "mute", "drop", "keygen"}},
	{"Maintenance", []string{"setup", "doctor", "backup", "fsck", "version", "completion", "help"}},
	{"Trying out", []string{"sign", "replay"}},
}

// synonyms are words that users type for a verb.
var synonyms = map[string][]string{
	"report": {"spam", "junk", "learn-spam"}, "revoke": {"ham", "unreport", "notspam"}, "learn": {"learn-ham", "train"},
	"explain": {"why"}, "check": {"test", "scan"}, "status": {"stats", "stat"}, "sites": {"peers"},
	"never": {"allow", "whitelist"}, "mute": {"ban"}, "undo": {"withdraw"}, "backup": {"dump", "export"},
}

// ours are the texts for the library's verbs.
var ours = map[string]string{
	"completion": "print a script that completes commands in a shell",
	"help":       "show the help of a command",
}

// arrange gives the root and the verbs below it their help, and suggestions for wrong names.
func arrange(root *cobra.Command) {
	root.SetHelpFunc(showHelp)
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usage(cmd))
		return err
	})
	root.SuggestionsMinimumDistance = 2
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return nil
	}
	for _, cmd := range root.Commands() {
		cmd.SuggestFor = synonyms[cmd.Name()]
	}
	checkHelp(root)
}

// unknownError is a command that does not exist, with those that the user may have meant.
type unknownError struct {
	parent, name string
	meant        []string
}

func (e *unknownError) Error() string {
	return fmt.Sprintf("unknown command %.60q for %q", e.name, e.parent)
}

func unknownCommand(parent *cobra.Command, name string) error {
	meant := parent.SuggestionsFor(name) // a name that is close and a synonym comes twice
	slices.Sort(meant)
	return &unknownError{parent.CommandPath(), name, slices.Compact(meant)}
}

// usageHint returns what to type after a mistake on the command line of a verb.
func usageHint(err error, verb string) string {
	var unknown *unknownError
	if !errors.As(err, &unknown) || len(unknown.meant) == 0 {
		return fmt.Sprintf("see %s --help", verb)
	}
	for i, name := range unknown.meant {
		unknown.meant[i] = unknown.parent + " " + name
	}
	return fmt.Sprintf("did you mean %s? See %s --help", strings.Join(unknown.meant, " or "), unknown.parent)
}

// showHelp prints the help of a command in the order in which readers need it: its
// purpose, which is the first paragraph of Long, then examples, usage and flags, then
// the details, with the exit codes last.
func showHelp(cmd *cobra.Command, _ []string) {
	fmt.Fprint(cmd.OutOrStdout(), helpText(cmd))
}

func helpText(cmd *cobra.Command) string {
	purpose, details, _ := strings.Cut(cmp.Or(cmd.Long, cmd.Short), "\n\n")
	text := purpose + "\n\n" + usage(cmd)
	if details != "" {
		text += "\n" + details + "\n"
	}
	return text
}

// usage returns the examples of a command, how it is called, and its commands and flags.
func usage(cmd *cobra.Command) string {
	var b strings.Builder
	if cmd.Example != "" {
		fmt.Fprintf(&b, "Examples:\n%s\n\n", cmd.Example)
	}
	b.WriteString("Usage:\n")
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	} else {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		writeCommands(&b, cmd)
	}
	writeFlags(&b, "Flags", cmd.LocalFlags())
	writeFlags(&b, "Flags of all commands", cmd.InheritedFlags())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help shows the help of a command.\n", cmd.CommandPath())
	}
	return b.String()
}

// writeCommands lists the verbs by their groups, and after them those without a group.
func writeCommands(b *strings.Builder, parent *cobra.Command) {
	rest := slices.DeleteFunc(slices.Clone(parent.Commands()), func(c *cobra.Command) bool { return !c.IsAvailableCommand() && c.Name() != "help" })
	list := func(title string, verbs []string) {
		for _, name := range verbs {
			at := slices.IndexFunc(rest, func(c *cobra.Command) bool { return c.Name() == name })
			if at < 0 {
				continue
			}
			if title != "" {
				fmt.Fprintf(b, "\n%s:\n", title)
				title = ""
			}
			fmt.Fprintf(b, "  %-*s %s\n", parent.Commands()[0].NamePadding(), name, cmp.Or(ours[name], rest[at].Short))
			rest = slices.Delete(rest, at, at+1)
		}
	}
	if !parent.HasParent() {
		for _, g := range groups {
			list(g.title, g.verbs)
		}
	}
	var names []string
	for _, c := range rest {
		names = append(names, c.Name())
	}
	list("Commands", names)
}

func writeFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if flags.HasAvailableFlags() {
		fmt.Fprintf(b, "\n%s:\n%s", title, flags.FlagUsages())
	}
}

// checkHelp makes help for an unknown command an error.
func checkHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // it was made above
	}
	help.Args = func(_ *cobra.Command, args []string) error {
		if found, rest, err := root.Find(args); err != nil || len(rest) > 0 {
			return unknownCommand(found, args[len(args)-max(1, len(rest))])
		}
		return nil
	}
}
