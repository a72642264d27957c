package main

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/spambloom/spambloom/bloomdb"
)

// Exit codes, as in sysexits.h.
const (
	exUsage      = 64
	exCantCreate = 73
	exIOErr      = 74
	exTempFail   = 75
	exNoPerm     = 77
	exConfig     = 78
)

const exitCodes = `Exit codes:
  0   stopped by a signal
  64  wrong usage
  73  a socket or the state folder could not be made
  74  the state folder is damaged or the disk failed
  75  in use: the state folder or an address, by another process
  77  no permission
  78  wrong configuration`

// failure is an error with the exit code of the step that failed.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// exitCode is the one place where errors become exit codes.
func exitCode(err error) int {
	var f *failure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &f) && (f.code == exUsage || f.code == exConfig):
		return f.code
	case errors.Is(err, bloomdb.ErrIdentity):
		return exConfig
	case errors.Is(err, bloomdb.ErrLocked), errors.Is(err, syscall.EADDRINUSE):
		return exTempFail
	case errors.Is(err, fs.ErrPermission):
		return exNoPerm
	case f != nil:
		return f.code
	}
	return exIOErr
}

// hint says what to do about the mistakes that are easily made.
func hint(err error) string {
	var f *failure
	switch {
	case errors.Is(err, bloomdb.ErrLocked):
		return "another spambloomd runs with this folder; stop it, or choose a folder with --data"
	case errors.Is(err, bloomdb.ErrIdentity):
		return "give the name, key and periods of before, or another folder with --data"
	case errors.Is(err, syscall.EADDRINUSE):
		return "choose another address with --listen, --control or --http, or in the configuration"
	case errors.As(err, &f) && f.code == exUsage:
		return "see spambloomd --help"
	}
	return ""
}
