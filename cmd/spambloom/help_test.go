package main

import (
	"slices"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// Every verb has its place in the help, and no verb has two.
func TestGroups(t *testing.T) {
	var listed []string
	for _, g := range groups {
		listed = append(listed, g.verbs...)
	}
	root := commands(&verb.CLI{})
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		at := slices.Index(listed, cmd.Name())
		if at < 0 || slices.Contains(listed[at+1:], cmd.Name()) {
			t.Errorf("%s is not in one group of the help", cmd.Name())
		}
	}
	for verb := range synonyms {
		if cmd, _, err := root.Find([]string{verb}); err != nil || cmd == root {
			t.Errorf("synonyms for %s, which does not exist", verb)
		}
	}
}
