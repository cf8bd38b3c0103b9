package builtin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// root is the folder that the file tools read below. It is opened for each call,
// so that a folder that is replaced is seen, and everything below it is reached
// through os.Root, which follows no link and no ".." out of it.
type root struct {
	path         string
	secret       []string
	maxFileBytes int64
}

func (r root) open() (*os.Root, error) {
	dir, err := os.OpenRoot(r.path)
	if err != nil {
		return nil, errors.New("the folder of the file tools cannot be opened")
	}
	return dir, nil
}

// clean makes the path that a model wrote relative to the root: "" and "/" are
// the root itself.
func clean(name string) string { return path.Clean(strings.TrimLeft(name, "/")) }

// openFile opens a regular file that is not secret. Opening anything else could block, as a named
// pipe does, or do something.
func (r root) openFile(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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
	case r.isSecret(info) || ofKernel(f):
		err = fmt.Errorf("%s may not be read: it can hold a secret of the worker", name)
	default:
		return f, info, nil
	}
	f.Close()
	return nil, nil, err
}

// isSecret reports whether a file is one of the secret ones. It is the file that counts and not its name; each time anew,
// since a key that is replaced is another file.
func (r root) isSecret(info fs.FileInfo) bool {
	for _, path := range r.secret {
		if secret, err := os.Stat(path); err == nil && os.SameFile(secret, info) {
			return true
		}
	}
	return false
}

// readableError tells a model what is wrong with a path, without the place of
// the root on this machine.
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
	if strings.Contains(err.Error(), "escapes") { // os.Root's error has no type
		return fmt.Errorf("%s is outside of the folder that may be read", name)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// binary reports whether a file looks like something other than text. It leaves
// the file at its beginning.
func binary(f io.ReadSeeker) (bool, error) {
	head := make([]byte, 8000)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	_, err = f.Seek(0, io.SeekStart)
	return bytes.IndexByte(head[:n], 0) >= 0, err
}
