package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func listCommand(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "list the experiments",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
			for _, e := range catalog() {
				fmt.Fprintf(w, "%s\t%s\t%s\n", e.Name, e.Title, e.Source)
			}
			if err := w.Flush(); err != nil {
				return outputError{err}
			}
			return nil
		},
	}
}
