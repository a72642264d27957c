package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// KeyFolders are the state folder and those of later keys in it.
func KeyFolders(dir string) (folders []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	folders = []string{dir}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), KeyFolderPrefix) {
			folders = append(folders, filepath.Join(dir, e.Name()))
		}
	}
	return folders, nil
}

// The federation key gives every position in every filter, so that nothing held under
// one key can be looked up under another. While the key is rolled over there are therefore
// two keyspaces in one state folder:
//
//	Report, Revoke, Retouch, Never, Count -> both, durable in both
//	Mute, Drop                            -> both
//	Judge, Explain                        <- both, united
//	NextDelta, Apply                      -- each with the members that have its key
//
// The previous one serves the sites that have not rolled over yet, and contains what was
// reported before; it can be removed when its reports have expired. The current one begins
// empty.
//
// Folders: the state folder itself belongs to the key under which it was first made,
// and each later key has a folder key-ID in it. Only the identity files record which folder
// belongs to which key. No file is moved, copied or removed at a roll-over, so that no
// crash can come between two steps. Files that are no longer used stay until an
// administrator removes them; Open logs the command.

// KeyFolderPrefix begins the names of the folders of keys that were rolled over to.
const KeyFolderPrefix = "key-"

func KeyFolder(dir, keyID string) string { return filepath.Join(dir, KeyFolderPrefix+keyID) }

// holdsIdentity reports whether a folder itself belongs to some key.
func holdsIdentity(folder string) bool {
	_, err := os.Stat(IdentityPath(folder))
	return err == nil
}

// FolderOf returns where below a state folder the keyspace of a key is, or is to be made:
// in the state folder itself if that belongs to this key or to none, else in a folder of
// its own.
func FolderOf(dir, keyID string) (folder string, made bool, err error) {
	below := KeyFolder(dir, keyID)
	id, err := ReadIdentity(dir)
	switch {
	case err == nil && id.KeyID == keyID:
		return dir, true, nil
	case holdsIdentity(below):
		return below, true, nil
	case errors.Is(err, fs.ErrNotExist):
		return dir, false, nil
	case err != nil:
		return "", false, err
	}
	return below, false, nil
}
