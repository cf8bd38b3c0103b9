package builtin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// root is the folder that the file tools can read and write. Each call of a tool opens the folder again, so the tools still work
// after the folder was replaced. The tools open all files through [os.Root], which does not follow a link or ".." out of the
// folder.
type root struct {
	Options

	writing *sync.Mutex // held while a file is read and replaced
}

// open opens the root folder, which the caller must close. It also returns the path of `name`, a path from a model, within this folder:
// see [root.relative].
func (r root) open(name string) (dir *os.Root, inside string, err error) {
	if inside, err = r.relative(name); err != nil {
		return nil, "", err
	}
	if dir, err = os.OpenRoot(r.Root); err != nil {
		return nil, "", errors.New("the folder of the file tools cannot be opened")
	}
	return dir, inside, nil
}

// relative converts a path from a model into a path relative to the root folder. For "" and "/", relative returns ".", which means
// the root folder. Models often write an absolute path, as a command has shown it. If this path is below the root folder, relative
// returns the rest of it. For any other absolute path, relative returns an error: to take it as relative would read or create
// another file than the model means and a person has approved.
//
// relative only compares names. [os.Root] refuses each path that leads out of the folder.
func (r root) relative(name string) (string, error) {
	cleaned := path.Clean(name)
	switch {
	case !path.IsAbs(cleaned):
		return cleaned, nil
	case cleaned == "/":
		return ".", nil
	}
	folders := []string{r.Root}
	// A command such as pwd may show the path with its links resolved. The links are read at each call, because the folder may be replaced.
	if resolved, err := filepath.EvalSymlinks(r.Root); err == nil {
		folders = append(folders, resolved)
	}
	for _, folder := range folders {
		if rest, err := filepath.Rel(folder, cleaned); err == nil && filepath.IsLocal(rest) {
			return filepath.ToSlash(rest), nil
		}
	}
	return "", fmt.Errorf("%s is outside of the folder of the file tools: paths are relative to this working folder, without a / at the beginning", name)
}

// openFile opens a file for one of the file tools. `name` is the path of the file within the root folder `dir`. `access` is
// [os.O_RDONLY] or [os.O_RDWR]. The caller must close the returned file. openFile refuses a file that is not regular, a file of the
// proc file system, and a file that is listed in [Options.Secret].
func (r root) openFile(dir *os.Root, name string, access int) (*os.File, fs.FileInfo, error) {
	// With O_NONBLOCK, opening a named pipe does not block. Reading from a file that is not regular, such as a named pipe or a
	// device, could block or have side effects.
	f, err := dir.OpenFile(name, access|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, readableError(name, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = readableError(name, err)
	case info.IsDir():
		err = fmt.Errorf("%s is a folder", name)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file", name)
	case isFile(r.Secret, info) || ofKernel(f):
		err = fmt.Errorf("%s may not be read or changed: it can hold a secret of the worker", name)
	default:
		return f, info, nil
	}
	f.Close()
	return nil, nil, err
}

// isFile compares the files and not their names, so it recognises a file that was opened through a link.
func isFile(paths []string, info fs.FileInfo) bool {
	// The paths are looked up at each call, because a secret may be replaced by a new file.
	return slices.ContainsFunc(paths, func(path string) bool {
		listed, err := os.Stat(path)
		return err == nil && os.SameFile(listed, info)
	})
}

// The error names the file by `name`, its path within the root folder: the model must not see where the root folder is on this
// machine.
func readableError(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied", name)
	}
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	if strings.Contains(err.Error(), "escapes") { // os.Root has no exported error for this
		return fmt.Errorf("%s is outside of the folder of the file tools", name)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// binary reports whether there is a NUL byte in the first 8000 bytes. It sets the file offset to 0.
func binary(f io.ReadSeeker) (bool, error) {
	head := make([]byte, 8000)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	_, err = f.Seek(0, io.SeekStart)
	return bytes.IndexByte(head[:n], 0) >= 0, err
}
