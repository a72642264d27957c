// Package clock provides the time that the database uses. Data that expires by a wrong time is
// lost, so a jump of the wall clock is not trusted at once. The database's time follows the
// wall clock as long as that agrees with the monotonic clock.
//
//	New -> Load (the last time on disk) -> Now, Now, ... -> Write, once a minute
//	Witness <- the times of other sites' records, which may confirm a jump
//
// It owns the file "clock". One lock guards the keeper. While the lock is held, only the
// function set by Watch may take another one.
package clock
