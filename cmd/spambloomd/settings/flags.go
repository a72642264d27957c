package settings

// Flags contains the command line. An empty value means that the configuration file
// decides.
type Flags struct {
	Config  string
	Test    bool
	Print   bool
	Repair  bool
	Restore string
	Data    string

	Passed []string // for Test: names of the sockets that systemd would pass to the start

	// overrides of configuration keys
	Listen                     []string
	Control, HTTP, Redis, Site string
}
