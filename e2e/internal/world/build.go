package world

import (
	"bytes"
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

// Binary returns the path of a program that [Main] or [Build] has built.
func Binary(name string) string { return filepath.Join(binaries, name) }

// Build builds programs of this module. For [Binary], the names of the programs begin with the path folder. The parameter args has
// the flags of "go build" and the packages to build.
func Build(folder string, args ...string) error {
	programs, err := shared(args)
	if err != nil {
		return err
	}
	built, err := os.ReadDir(programs)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(Binary(folder), 0o700); err != nil {
		return err
	}
	for _, program := range built {
		if err := os.Symlink(filepath.Join(programs, program.Name()), filepath.Join(Binary(folder), program.Name())); err != nil {
			return err
		}
	}
	return nil
}

// shared returns a folder with the programs that "go build" makes of args. All test binaries that are built from the same code share
// it: to link two programs takes several seconds, and there are many folders of tests. The name of the folder is a hash of all that is
// linked.
func shared(args []string) (string, error) {
	linked, err := run(append([]string{"list", "-deps", "-export", "-f", "{{.ImportPath}} {{.BuildID}}"}, args...)...)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	all := filepath.Join(cache, "reagent", "e2e")
	if err := os.MkdirAll(all, 0o700); err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(linked, "%q %s", args, os.Getenv("GOFLAGS")))
	dir := filepath.Join(all, hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(dir); err == nil { // nobody waits for another folder
		return dir, nil
	}
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
	if _, err := run(append([]string{"build", "-o", unfinished}, args...)...); err != nil {
		return "", err
	}
	return dir, os.Rename(unfinished, dir)
}

// run runs the go command in the module's root folder and returns what it prints.
func run(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = Path()
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %v: %w\n%s", args, err, said.Bytes())
	}
	return out, nil
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
