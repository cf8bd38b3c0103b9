//go:build unix

package devserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// checkOwned returns an error if another user could put a program at a path. This process would then run the other user's
// program. The file at the path need not exist, but its folder must.
//
// The file and all folders above it must belong to root or to the current user. Their group and other users must not be able
// to write to them. There is one exception: other users may write to a folder with the sticky bit, such as /tmp. The folder
// of the file itself is not such an exception.
func checkOwned(path string) error {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return err
	}
	path = filepath.Join(folder, filepath.Base(path))
	for place := path; ; place = filepath.Dir(place) {
		info, err := os.Lstat(place)
		if errors.Is(err, fs.ErrNotExist) && place == path {
			continue
		}
		if err != nil {
			return err
		}
		// In a folder with the sticky bit, such as /tmp, other users cannot rename or delete our files.
		sticky := place != path && place != folder && info.Mode()&fs.ModeSticky != 0
		owner := info.Sys().(*syscall.Stat_t).Uid
		switch {
		case owner != 0 && int(owner) != os.Geteuid():
			return fmt.Errorf("%s belongs to another user, who could replace the program; set REAGENT_CACHE to a folder of your own", place)
		case info.Mode()&0o022 != 0 && info.Mode()&fs.ModeSymlink == 0 && !sticky:
			return fmt.Errorf("%s can be written by others, who could replace the program; run chmod go-w %[1]s and remove files that you do not know, or set REAGENT_CACHE to a folder of your own", place)
		}
		if place == filepath.Dir(place) {
			return nil
		}
	}
}
