package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/bloomlab/beyond"
	"github.com/spambloom/spambloom/cmd/bloomlab/crosscheck"
	"github.com/spambloom/spambloom/cmd/bloomlab/delta"
	"github.com/spambloom/spambloom/cmd/bloomlab/federation"
	"github.com/spambloom/spambloom/cmd/bloomlab/generalized"
	"github.com/spambloom/spambloom/cmd/bloomlab/iterative"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/reputation"
	"github.com/spambloom/spambloom/cmd/bloomlab/retouched"
	"github.com/spambloom/spambloom/cmd/bloomlab/yancho"
)

// catalog lists all experiments, paper by paper.
func catalog() []lab.Experiment {
	return slices.Concat(
		yancho.Experiments(),
		retouched.Experiments(),
		crosscheck.Experiments(),
		iterative.Experiments(),
		generalized.Experiments(),
		beyond.Experiments(),
		delta.Experiments(),
		federation.Experiments(),
		reputation.Experiments(),
	)
}

// names returns the names of all experiments, and "all".
func names() []string { return namesOf(catalog()) }

func namesOf(experiments []lab.Experiment) []string {
	var names []string
	for _, e := range experiments {
		names = append(names, e.Name)
	}
	return append(names, "all")
}

// choose returns the named experiments, each once, in the order of the list. It computes the
// catalogue once: many of the printed values are models, which take longer than the names.
func choose(wanted []string) ([]lab.Experiment, error) {
	experiments := catalog()
	known := namesOf(experiments)
	for _, name := range wanted {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown experiment %.60q; known are: %s", name, strings.Join(known, ", "))
		}
	}
	all := slices.Contains(wanted, "all")
	return slices.DeleteFunc(experiments, func(e lab.Experiment) bool {
		return !all && !slices.Contains(wanted, e.Name)
	}), nil
}

func completeNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	left := slices.DeleteFunc(names(), func(name string) bool { return slices.Contains(args, name) })
	return left, cobra.ShellCompDirectiveNoFileComp
}
