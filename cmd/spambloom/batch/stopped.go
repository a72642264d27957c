package batch

import (
	"fmt"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// StoppedError is an error that every message would meet. It stopped the work at
// one of several messages.
type StoppedError struct {
	Err   error
	Name  verb.MessageName // the message at which the work stopped
	Count int              // messages before it that are done
	Done  string           // what was done with them: accepted, checked
	Later int              // messages after it that were processed meanwhile, and are done

	Before int // messages before it, including those that failed on their own
	Skip   int // --skip that resumes at this message; 0: from the first, or no such flag
}

func (e *StoppedError) Error() string { return e.Err.Error() }
func (e *StoppedError) Unwrap() error { return e.Err }

// Rest describes what is left to do. Some messages after the failed one may have been processed
// in parallel; only the number of those that were answered is known. spambloom-address reads this line.
func (e *StoppedError) Rest() string {
	again := "run it again"
	if e.Skip > 0 {
		again = fmt.Sprintf("run it again with --skip %d", e.Skip)
	}
	later := ""
	if e.Later > 0 {
		later = fmt.Sprintf(", and %d after it", e.Later)
	}
	return fmt.Sprintf("stopped at %s: %d %s%s; %s for this message and the rest", e.Name, e.Count, e.Done, later, again)
}
