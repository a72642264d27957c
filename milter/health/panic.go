package health

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Panic is an error made from a recovered panic.
type Panic struct {
	value any
	Stack []byte
}

// NewPanic returns the error for what recover returned. The caller is the function that recovered.
func NewPanic(value any) *Panic { return &Panic{value, debug.Stack()} }

// Error shows the value only if the runtime made it: others may quote the message.
func (p *Panic) Error() string {
	if err, ok := p.value.(runtime.Error); ok {
		return "panic: " + err.Error()
	}
	return fmt.Sprintf("panic: a value of type %T", p.value)
}
