package world

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
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
