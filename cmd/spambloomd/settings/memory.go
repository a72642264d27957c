package settings

import "log/slog"

const (
	// ImageMemory is for images decoded while signing. Unit: bytes.
	ImageMemory = 256 << 20
	// OtherMemory is for parts without a configuration key: the control and HTTP servers,
	// the exchange, the ledger, and 40 MiB for the messages judged lately (package judged).
	// Unit: bytes.
	OtherMemory = 200 << 20
)

// MostMemory returns the most memory that a daemon with this configuration uses, whatever
// others do, for MemoryMax in a unit. Unit: bytes.
func (s *Settings) MostMemory() (int64, error) {
	log := slog.New(slog.DiscardHandler)
	filters, err := s.DatabaseOptions([32]byte{}, log).MostMemory()
	return s.MilterOptions(s.Name, log).MostMemory() + s.SpamdMemory() + s.TrapMemory() + ImageMemory + OtherMemory + filters, err
}

// TrapMemory returns the most memory of what traps read of a message: one at a time. Unit: bytes.
func (s *Settings) TrapMemory() int64 {
	if len(s.Traps) == 0 {
		return 0
	}
	return 2 * s.Milter.MaxMessage
}

// MostDisk returns the size that the state folder can grow to with this configuration. Unit: bytes.
func (s *Settings) MostDisk() (int64, error) {
	log := slog.New(slog.DiscardHandler)
	files, err := s.DatabaseOptions([32]byte{}, log).MostDisk()
	return files + s.LedgerOptions(log).Max*reportSize + otherDisk, err
}

// MostTasks returns the maximum number of threads: one for each connection, which may wait
// for the disk, and some others. For TasksMax in a unit.
func (s *Settings) MostTasks() int64 {
	tasks := s.Milter.MaxConnections + 200
	if len(s.Spamd.Listen) > 0 {
		tasks += s.Spamd.MaxConnections
	}
	return tasks
}
