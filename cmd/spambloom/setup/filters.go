package setup

import (
	_ "embed"
	"path/filepath"
	"strings"

	"github.com/spambloom/spambloom/cmd/spambloom/change"
)

// The rules of contrib/beside.md.
var (
	//go:embed rules/multimap.conf
	rspamdRules string
	//go:embed rules/spambloom.cf
	spamAssassinRules string
)

// The lines around the rules in a file that may contain others.
const (
	begin = "# Begin of the rules of spambloom setup: do not change these lines.\n"
	end   = "# End of the rules of spambloom setup.\n"
)

// filterSteps make rspamd and SpamAssassin give the daemon's verdict a score.
func (m *machine) filterSteps() (p plan, err error) {
	if m.hasRspamd {
		f, err := change.Read(filepath.Join(m.Rspamd, "multimap.conf"))
		if err != nil {
			return nil, fault(err)
		}
		if f.New, err = m.editRules(string(f.Old), rspamdRules, f.Path); err != nil {
			return nil, err
		}
		if f.IsChanged() {
			p = append(p, m.write(f, "rspamadm", "configtest", "-q"), m.reloadUnits("rspamd"))
		}
	}
	if m.hasSpamAssassin {
		f, err := change.Read(filepath.Join(m.SpamAssassin, "spambloom.cf"))
		if err != nil {
			return nil, fault(err)
		}
		if f.New, err = m.editRules(string(f.Old), spamAssassinRules, f.Path); err != nil {
			return nil, err
		}
		if f.IsChanged() {
			p = append(p, m.write(f, "spamassassin", "--lint"), m.reloadUnits("spamassassin", "spamd"))
		}
	}
	return p, nil
}

// editRules adds the rules to a file, or removes them. A file in which an administrator wrote
// such rules himself remains as it is.
func (m *machine) editRules(text, rules, path string) ([]byte, error) {
	before, rest, ours := strings.Cut(text, begin)
	_, after, isWhole := strings.Cut(rest, end)
	switch {
	case ours && !isWhole:
		return nil, invalid("remove the rules by hand", "%s: the line %q is missing", path, strings.TrimSpace(end))
	case m.Remove && ours:
		return []byte(before + after), nil
	case m.Remove, !ours && strings.Contains(text, "SPAMBLOOM_"):
		return []byte(text), nil
	case ours: // of another version, perhaps
		return []byte(before + begin + rules + end + after), nil
	}
	return []byte(withBreak(text) + begin + rules + end), nil
}

// reloadUnits restarts those of the units that run. The name depends on the distribution.
func (m *machine) reloadUnits(names ...string) step {
	if !m.hasSystemd {
		return manual("restart " + names[0])
	}
	return shell("systemctl try-restart " + strings.Join(names, " ") + " 2>/dev/null || true")
}
