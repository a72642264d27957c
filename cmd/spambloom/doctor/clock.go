package doctor

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/spambloom/spambloom/cmd/spambloom/finding"
)

// clock checks the kernel's clock, and whether the daemon trusts it.
func (p *patient) clock() (results []finding.Finding) {
	if p.status != nil && p.status.Database.Clock != nil {
		results = append(results, finding.Bad("clock", "check the time by NTP; contrib/state.md explains the clock", "the clock has jumped, and the daemon does not trust it: nothing expires meanwhile"))
	}
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return append(results, finding.Skip("clock", "the kernel does not report whether it is synchronised: %v", err))
	}
	if t.Status&unix.STA_UNSYNC != 0 {
		return append(results, finding.Bad("clock", synchronise("/"), "the clock is not synchronised by NTP: if it is off by more than an hour, other sites do not read this one"))
	}
	return append(results, finding.Good("clock", "synchronised by NTP"))
}

// ntpUnits are the folders with lists of the services for NTP that timedatectl can start
// (systemd-timedated.service(8)).
var ntpUnits = []string{"etc", "run", "usr/local/lib", "usr/lib", "lib"}

// synchronise returns what synchronises the clock of a system with this root.
func synchronise(root string) string {
	has := func(path string) bool {
		_, err := os.Stat(filepath.Join(root, path))
		return err == nil
	}
	switch {
	case has("run/systemd/container"):
		return "synchronise the clock of the machine on which this container runs"
	case !has("run/systemd/system"): // as sd_booted(3) asks
		return "install and start a service for NTP, such as chrony"
	}
	for _, dir := range ntpUnits {
		if lists, _ := filepath.Glob(filepath.Join(root, dir, "systemd/ntp-units.d/*.list")); len(lists) > 0 { // the pattern is valid
			return "timedatectl set-ntp true"
		}
	}
	if has("etc/debian_version") {
		return "apt install systemd-timesyncd"
	}
	return "install and start a service for NTP, such as chrony or systemd-timesyncd"
}
