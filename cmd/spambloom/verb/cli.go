package verb

import (
	"fmt"

	"github.com/spf13/cobra"
)

// CLI is one run of the program.
type CLI struct {
	Streams

	bar      *Progress // set while messages are processed
	Expected int       // messages, if they were counted before; else 0

	Control string // --control
	Quiet   bool   // --quiet
	Late    bool   // the verb prints nothing before it is done
	Changes bool   // the verb changes something for each message
}

// AskerUsage is the help of --as, for the verbs of administrators.
const AskerUsage = "name or address of the `ADMIN` who asks, for the log (default: your login name)"

// NoArguments is cobra.NoArgs for a verb, whose arguments are not commands.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes flags only: %.60q", cmd.Name(), args[0])
	}
	return nil
}
