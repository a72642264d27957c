package verb

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/internal/config"
)

// Place is where the files of a site are.
type Place struct {
	Config string
	Data   string // "": the usual folder, see State
}

// AddFlags adds --config and --data.
func (p *Place) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&p.Config, "config", "c", config.DefaultPath, "configuration `FILE`")
	cmd.Flags().StringVar(&p.Data, "data", "", "state `FOLDER` of the daemon (default /var/lib/spambloom, else ./spambloom-data)")
}

// State returns the daemon's state folder.
func (p *Place) State() string {
	const usual = "/var/lib/spambloom"
	if _, err := os.Stat(usual); p.Data == "" && err != nil && os.Geteuid() != 0 {
		return "spambloom-data"
	}
	return cmp.Or(p.Data, usual)
}
