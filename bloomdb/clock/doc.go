// Package clock is the time that the database goes by. It follows the wall clock as long as
// that agrees with the monotonic clock; a jump is not believed at once, since whatever
// expires by it is gone.
//
//	New -> Load (the last time on disk) -> Now, Now, ... -> Write, once a minute
//	Witness <- the time of another site's record, which may confirm a jump
//
// It owns the file "clock". One lock guards the keeper; nothing else is locked while it is
// held, but that of what Watch names.
package clock
