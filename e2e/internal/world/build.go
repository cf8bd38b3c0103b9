package world

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/internal/filelock"
)

// Binary returns the path of a program that [Main] or [Build] has built. An empty name means the folder of all programs.
func Binary(name string) string { return filepath.Join(binaries, name) }

// Build builds programs of this module. The parameter to is the path of the program, or of an existing folder for several
// programs. The parameter args has the flags of "go build" and the packages to build.
func Build(to string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-o", to}, args...)...)
	cmd.Dir = Path()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %v: %w\n%s", args, err, out)
	}
	return nil
}

// shared returns a folder with the worker and the starter. All test binaries that are built from the same code share it: to link the two
// programs takes several seconds, and there are many folders of tests. The name of the folder is a hash of all that is linked.
func shared() (string, error) {
	list := exec.Command("go", "list", "-deps", "-export", "-f", "{{.ImportPath}} {{.BuildID}}", "./cmd/worker", "./cmd/starter")
	list.Dir = Path()
	linked, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	all := filepath.Join(cache, "reagent", "e2e")
	if err := os.MkdirAll(all, 0o700); err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(linked, os.Getenv("GOFLAGS")...))
	dir := filepath.Join(all, hex.EncodeToString(sum[:8]))
	unlock, err := filelock.Lock(context.Background(), filepath.Join(all, "lock"), func() {})
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := removeOld(all); err != nil {
		return "", err
	}
	unfinished, err := os.MkdirTemp(all, "unfinished-")
	if err != nil {
		return "", err
	}
	if err := Build(unfinished, "./cmd/worker", "./cmd/starter"); err != nil {
		return "", err
	}
	return dir, os.Rename(unfinished, dir)
}

// removeOld removes the programs that were built more than a day ago.
func removeOld(all string) error {
	entries, err := os.ReadDir(all)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && time.Since(info.ModTime()) > 24*time.Hour {
			if err := os.RemoveAll(filepath.Join(all, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Path returns the absolute path of a file or folder of this module. Without elements, it returns the module's root folder.
func Path(elem ...string) string {
	return filepath.Join(append([]string{moduleRoot()}, elem...)...)
}

// moduleRoot returns the root folder of this module: the nearest folder with a go.mod, from the working folder upwards.
var moduleRoot = sync.OnceValue(func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			panic("the tests run outside of the module")
		}
		dir = filepath.Dir(dir)
	}
})
