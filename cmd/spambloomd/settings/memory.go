package settings

import (
	"log/slog"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/reporting/page/uploads"
)

const (
	// ImageMemory is for images decoded while signing. Unit: bytes.
	ImageMemory = 256 << 20
	// OtherMemory is for parts without a configuration key: the control and HTTP servers,
	// the exchange, the ledger, 40 MiB for the messages judged lately (package judged), and what the page
	// reads of messages of the default length. Unit: bytes.
	OtherMemory = 200 << 20
)

// MostMemory returns the most memory that a daemon with this configuration uses, whatever
// others do, for MemoryMax in a unit. Unit: bytes.
func (s *Settings) MostMemory() (int64, error) {
	log := slog.New(slog.DiscardHandler)
	filters, err := s.DatabaseOptions([32]byte{}, log).MostMemory()
	return s.MilterOptions(s.Name, log).MostMemory() + s.DoorMemory() + ImageMemory + OtherMemory + filters, err
}

// DoorMemory returns the most memory of mail beside the milter's: of spamd's protocol, and of what traps, one
// at a time, and the page read of messages. Of these, the header may be there twice. Unit: bytes.
func (s *Settings) DoorMemory() int64 {
	sum := s.spamdMemory()
	if len(s.Traps) > 0 {
		sum += 3 * s.Milter.MaxMessage
	}
	if s.HTTP.Listen != "" {
		sum += uploads.Most * 2 * max(0, s.Milter.MaxMessage-config.Default().Milter.MaxMessage)
	}
	return sum
}

// MostDisk returns the size that the state folder can grow to with this configuration, the temporary files of
// mail included. Unit: bytes.
func (s *Settings) MostDisk() (int64, error) {
	log := slog.New(slog.DiscardHandler)
	files, err := s.DatabaseOptions([32]byte{}, log).MostDisk()
	if s.Milter.OverMemory == "spill" {
		files += milter.SpilledLimit * s.Milter.MaxMemory
	}
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
