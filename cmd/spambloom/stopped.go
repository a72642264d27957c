package main

import "fmt"

// stoppedError is an error that every message would meet. It stopped the work at
// one of several messages.
type stoppedError struct {
	err   error
	name  string // the message at which the work stopped
	count int    // messages before it that are done
	done  string // what was done with them: accepted, checked

	before int // messages before it, including those that failed on their own
	skip   int // --skip that resumes at this message; 0: from the first, or no such flag
}

func (e *stoppedError) Error() string { return e.err.Error() }
func (e *stoppedError) Unwrap() error { return e.err }

// rest describes what is left to do. Some messages after the failed one may have
// been processed in parallel; their outcome is unknown.
func (e *stoppedError) rest() string {
	again := "run it again"
	if e.skip > 0 {
		again = fmt.Sprintf("run it again with --skip %d", e.skip)
	}
	return fmt.Sprintf("stopped at %s: %d %s; %s for this message and the rest", e.name, e.count, e.done, again)
}
