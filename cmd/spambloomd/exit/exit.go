// Package exit owns the exit codes of the daemon's failed steps. The command maps all other
// errors to codes.
package exit

// Exit codes, as in sysexits.h.
const (
	Usage      = 64
	Data       = 65
	NoInput    = 66
	CantCreate = 73
	IOErr      = 74
	TempFail   = 75
	NoPerm     = 77
	Config     = 78
)

// Failure is an error with the exit code of the step that failed.
type Failure struct {
	Code int
	Err  error
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }
