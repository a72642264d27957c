package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/state"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A start on a full disk goes on, as mail is judged all the same.
func TestStartOnFullDisk(t *testing.T) {
	s, log := damagedSettings(filepath.Join(testenv.SmallDisk(t, "32m"), "data")), slog.New(slog.DiscardHandler)
	damagedLife(t, s)
	filler, err := os.Create(filepath.Join(filepath.Dir(s.Data), "filler"))
	testenv.Check(t, err)
	defer filler.Close()
	for block := make([]byte, 4<<10); err == nil; {
		_, err = filler.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	st, err := state.Open(s, log)
	testenv.Check(t, err)
	if err := st.Relist(log, func() {}); err != nil {
		t.Error(err)
	}
	if !st.DB.Judge(letterSet(t, "known")).Listed {
		t.Error("the reported message is not listed")
	}
	if err := st.Close(); err == nil {
		t.Error("the last snapshots were written, on a full disk")
	}
}
