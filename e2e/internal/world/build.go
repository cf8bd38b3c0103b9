package world

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Binary returns the path of a program that Main or Build has built. The name "" means the folder of all programs.
func Binary(name string) string { return filepath.Join(binaries, name) }

// Build builds programs of the module into to, which is a file, or a folder that exists. Args are flags of go build and packages.
func Build(to string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-o", to}, args...)...)
	cmd.Dir = Path()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %v: %w\n%s", args, err, out)
	}
	return nil
}

// Path returns the absolute path of a file or folder of the module; without elements it returns the module's root.
func Path(elem ...string) string {
	return filepath.Join(append([]string{moduleRoot()}, elem...)...)
}

// moduleRoot is the nearest folder above the test's own that has a go.mod.
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
