package keyspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
)

// PreviousUntil returns when the last reports made before the key change expire. The key changed when
// the current key's folder was created, in this epoch or an earlier one.
func (ks *Keyspace) PreviousUntil() time.Time {
	made := time.UnixMilli(int64(min(ks.Outbox.Epoch(), uint64(ks.Settings.Now().UnixMilli()))))
	newest := ks.Settings.Generation(layout.SpamFilter, made)
	return ks.Settings.Start(layout.Target{Kind: layout.SpamFilter, Gen: newest + int64(ks.Settings.Reports.Keep)})
}

// NameUnused logs which keyspaces below a state folder belong to other keys, and the command that
// removes them. It removes nothing. If such a key is used again, reports made meanwhile are listed
// under it then, see Relist.
func (ks *Keyspace) NameUnused(dir string) {
	say := func(f, command string) {
		id, err := folder.ReadIdentity(f)
		if err != nil || f == ks.Settings.Dir {
			return
		}
		ks.WarnOfNever(f)
		if !id.Relist { // reports made from now on are not in it
			id.Relist = true
			if err := id.Write(f); err != nil {
				ks.Settings.Log.Warn("if this federation key is used again, other sites will not receive reports made meanwhile", "folder", f, "error", err)
			}
		}
		ks.Settings.Log.Info("the state of another federation key is no longer used and may be removed",
			"folder", f, "federation", id.KeyID, "command", command)
	}
	say(dir, "cd "+shellWord(dir)+" && rm -f identity segments journal-* *.snapshot *.mask *.set *.votes never-*")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // Open reported any fault, and nothing depends on this
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), folder.KeyFolderPrefix) {
			folder := filepath.Join(dir, e.Name())
			say(folder, "rm -r "+shellWord(folder))
		}
	}
}

// shellWord quotes a path for a shell.
func shellWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// WarnOfNever logs how many messages are only on the never-list of another key's folder. Their hashes
// cannot be used under this key, and they do not expire.
func (ks *Keyspace) WarnOfNever(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // as in NameUnused
	}
	n := 0
	for _, e := range entries {
		if never.IsPath(e.Name()) && !slices.ContainsFunc(ks.Never.All(), func(own *never.Entry) bool {
			return filepath.Base(never.Path(folder, own.Name)) == e.Name()
		}) {
			n++
		}
	}
	if n > 0 {
		ks.Settings.Log.Warn("messages are on the never-list under the previous federation key only; declare them again with spambloom never",
			"messages", n, "folder", folder)
	}
}
