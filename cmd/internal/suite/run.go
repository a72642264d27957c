package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// longestLine bounds an event: go test itself splits a longer line of output.
const longestLine = 16 << 20

// goTest runs go test with these arguments and passes its events on. An interrupt is passed
// to go test, which ends its tests; processes that do not end are killed.
func goTest(ctx context.Context, args []string, report *report) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	cmd.Stderr = os.Stderr
	cmd.Env = os.Environ()
	if os.Getenv("GORACE") == "" {
		cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0") // else each program waits for a second at its end
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := readEvents(stdout, report)
	if readErr != nil {
		_, _ = io.Copy(io.Discard, stdout) // go test must not block
	}
	return errors.Join(readErr, cmd.Wait())
}

// readEvents reads to the end. Lines that are not events, such as an error of go itself,
// are printed unchanged.
func readEvents(from io.Reader, report *report) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Action == "" {
			fmt.Fprintln(report.out, lines.Text())
			continue
		}
		report.add(e)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("events of go test: %w", err)
	}
	return nil
}
