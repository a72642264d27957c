package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/bloomlab/variation"
	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestSignaturesCommand(t *testing.T) {
	testenv.Servers(t)
	root := t.TempDir()
	for folder, sample := range map[string]string{"spam": "plain.eml", "ham": "latin.eml"} {
		raw, err := os.ReadFile(filepath.Join("variation/testdata", sample))
		testenv.Check(t, err)
		testenv.Check(t, os.MkdirAll(filepath.Join(root, folder), 0o700))
		testenv.Check(t, os.WriteFile(filepath.Join(root, folder, sample), raw, 0o600))
	}
	for _, test := range []struct {
		name string
		args []string
		code int
		want string // somewhere in the output
	}{
		{"table", []string{"--corpus", root, "--kinds", "base64", "--check"}, 0, "0 of 1 ham hit."},
		{"json", []string{"--corpus", root, "--kinds", "base64", "--json"}, 0, `{"kind":"base64","copies":1,"caught":1,`},
		{"pairs", []string{"--corpus", root, "--kinds", "base64", "--pairs"}, 0, "contain-3"},
		{"list", []string{"--list"}, 0, "look-alikes-heavy"},
		{"unknown kind", []string{"--kinds", "none"}, exUsage, `unknown kind "none"`},
		{"no corpus", nil, exUsage, "--corpus PATH is required"},
		{"no messages", []string{"--messages", "0"}, exUsage, "--messages 0"},
	} {
		var out, errs bytes.Buffer
		code := run(context.Background(), append([]string{"signatures"}, test.args...), &out, &errs)
		if code != test.code || !strings.Contains(out.String()+errs.String(), test.want) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s%s", test.name, code, test.code, test.want, &out, &errs)
		}
	}
}

// --list has a line for each kind, and no more.
func TestSignaturesListsAllKinds(t *testing.T) {
	var out, errs bytes.Buffer
	run(context.Background(), []string{"signatures", "--list"}, &out, &errs)
	if n := bytes.Count(out.Bytes(), []byte("\n")); n != len(variation.Kinds()) {
		t.Errorf("%d lines for %d kinds", n, len(variation.Kinds()))
	}
}

func TestMissedAimExitsOne(t *testing.T) {
	if code := exitCode(missedError(2)); code != exOutside {
		t.Errorf("exit code %d, want %d", code, exOutside)
	}
}
