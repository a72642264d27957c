package join

import (
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
)

// ignored returns a warning for each of these sites that this one ignores: its reports would have
// no effect here although it joins. The state folder names muted and dropped sites. Without a readable
// one there are none.
func (s *site) ignored(names ...string) (warnings []string) {
	muted := s.muted()
	for _, name := range names {
		m, found := muted[name]
		switch peer, _ := s.peerNamed(name); {
		case found && m.Dropped:
			warnings = append(warnings, fmt.Sprintf("%s was dropped here on %s, so this site will not read its reports; to read them again: spambloom mute --undo %[1]s", name, day(m)))
		case found:
			warnings = append(warnings, fmt.Sprintf("%s was muted here on %s, so its reports have no effect; to use them again: spambloom mute --undo %[1]s", name, day(m)))
		case peer.Trust == "none":
			warnings = append(warnings, fmt.Sprintf("the [[peer]] of %s in %s has trust = \"none\", so its reports have no effect", name, s.file.Path))
		}
	}
	return warnings
}

func day(m folder.MutedSite) string { return time.Unix(m.Since, 0).UTC().Format(time.DateOnly) }

// muted returns the muted and dropped sites by name.
func (s *site) muted() map[string]folder.MutedSite {
	key, err := keyring.ReadKey(s.files.Federation)
	if err != nil {
		return nil
	}
	dir, _, err := folder.FolderOf(s.state, keyring.ID(key))
	if err != nil {
		return nil
	}
	id, err := folder.ReadIdentity(dir)
	if err != nil {
		return nil
	}
	byName := make(map[string]folder.MutedSite)
	for _, m := range id.Muted {
		byName[m.Site] = m
	}
	return byName
}
