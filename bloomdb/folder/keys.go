package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// KeyFolders returns the state folder itself and its subfolders for later keys.
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

// The federation key determines every position in every filter, so data stored under one
// key cannot be looked up under another. During a key change, the state folder therefore
// contains two keyspaces:
//
//	Report, Revoke, Retouch, Never, Count -> both, durable in both
//	Mute, Drop                            -> both
//	Judge, Explain                        <- both, united
//	NextDelta, Apply                      -- each with the members that have its key
//
// The previous keyspace serves sites that have not changed the key yet, and contains earlier
// reports. It can be removed when its reports have expired. The current keyspace begins empty.
//
// The state folder itself belongs to the key under which it was first made. Each later key
// has a subfolder key-ID. Only the identity files record which folder belongs to which key.
// A key change moves, copies and removes no file, so a crash cannot interrupt it half-way.
// Unused files stay until an administrator removes them; Open logs the command.

// KeyFolderPrefix begins the name of the subfolder of each later key.
const KeyFolderPrefix = "key-"

func KeyFolder(dir, keyID string) string { return filepath.Join(dir, KeyFolderPrefix+keyID) }

// holdsIdentity reports whether a folder itself belongs to a key.
func holdsIdentity(folder string) bool {
	_, err := os.Stat(IdentityPath(folder))
	return err == nil
}

// FolderOf returns the folder of a key's keyspace, and whether it exists already. It is the
// state folder itself if that belongs to this key or to none, else a subfolder.
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
