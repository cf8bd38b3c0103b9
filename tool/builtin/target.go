package builtin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/tool"
)

// target is an existing file that the tool `write_file` or `edit_file` may replace. It is open for reading and writing, but
// nothing is written to it: see [root.replace].
type target struct {
	*os.File

	info fs.FileInfo // as it was when the file was opened
}

// asking is a tool with [tool.Spec.NeedsApproval], whatever the specification of the embedded tool says.
type asking struct{ tool.Tool }

// Spec implements [tool.Tool].
func (a asking) Spec() tool.Spec {
	spec := a.Tool.Spec()
	spec.NeedsApproval = true
	return spec
}

func (r root) checkSize(name string, size int) error {
	if int64(size) > r.MaxFileBytes {
		return fmt.Errorf("%s would have %d bytes; the limit is %d", name, size, r.MaxFileBytes)
	}
	return nil
}

// openTarget opens a file that will be replaced. `name` is its path within the root folder `dir`. If there is no such file,
// openTarget returns [fs.ErrNotExist], and the caller may create the file. The caller must close the target.
//
// openTarget refuses:
//   - a folder, a symbolic link, and any other file that is not regular
//   - a file of the proc file system
//   - a file that the worker has no permission to write
//   - a file that is listed in [Options.Secret] or [Options.Protected], even if it does not exist
func (r root) openTarget(dir *os.Root, name string) (*target, error) {
	folder, err := dir.Stat(path.Dir(name))
	if err != nil {
		return nil, readableError(path.Dir(name), err)
	}
	refused := slices.Concat(r.Secret, r.Protected)
	if isPathOf(refused, folder, path.Base(name)) {
		return nil, errProtected(name)
	}
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, readableError(name, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder", name)
	case info.Mode()&fs.ModeSymlink != 0:
		// To replace the link would leave the file behind it as it is, which is hardly what the model wants.
		return nil, fmt.Errorf("%s is a symbolic link: use the path of the file to which it leads", name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	// A file that is replaced needs no permission to be written. It is opened for writing, so that the permission counts anyway.
	f, info, err := r.openFile(dir, name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if isFile(refused, info) {
		f.Close()
		return nil, errProtected(name)
	}
	return &target{File: f, info: info}, nil
}

func errProtected(name string) error {
	return fmt.Errorf("%s may not be changed: it can hold a secret or the configuration of the worker", name)
}

// isPathOf reports whether one of the given paths is that of the file `base` in the given folder. The file need not exist. Upper
// and lower case count as equal, because they are equal in some file systems.
func isPathOf(paths []string, folder fs.FileInfo, base string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		info, err := os.Stat(filepath.Dir(p))
		return err == nil && os.SameFile(info, folder) && strings.EqualFold(filepath.Base(p), base)
	})
}

func (r root) readAll(t *target) (string, error) {
	data, err := io.ReadAll(io.LimitReader(t, r.MaxFileBytes+1))
	if err == nil && int64(len(data)) > r.MaxFileBytes {
		err = fmt.Errorf("the file has %d bytes; the limit is %d", t.info.Size(), r.MaxFileBytes)
	}
	return string(data), err
}

// replace gives a file a new content. `old` is the file that is replaced; nil if the file is new. The caller must hold the lock `writing`.
//
// The content is written to a temporary file in the same folder, which is then renamed. So other programs see either the whole old content
// or the whole new content, also after a crash. A crash may leave the temporary file. The new file has the permission bits of the old file
// and belongs to the user of the worker. Other hard links to the old file keep the old content.
//
// replace returns an error, and does not change the file, in these cases:
//   - The context has ended.
//   - Somebody else has changed the file since it was opened, or has created it. A change in the moment before the renaming is not noticed,
//     because no file system has an operation for this.
//   - The system refuses one of the steps.
func (r root) replace(ctx context.Context, dir *os.Root, name string, old *target, content string) (err error) {
	temporary := path.Join(path.Dir(name), ".reagent-"+rand.Text()+".tmp")
	mode := fs.FileMode(0o666) // the umask decides, as for any program
	if old != nil {
		mode = 0o600 // until the new file has the permission bits of the old one
	}
	f, err := dir.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return readableError(name, err)
	}
	defer func() {
		f.Close()
		if err != nil {
			_ = dir.Remove(temporary)
		}
	}()
	if old != nil {
		err = f.Chmod(old.info.Mode().Perm())
	}
	if err == nil {
		_, err = io.WriteString(f, content)
	}
	if err == nil {
		err = f.Sync() // otherwise the file could be empty after a power failure
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return readableError(name, err)
	}
	now, err := dir.Lstat(name)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s was not changed: %w", name, ctx.Err())
	case old == nil && errors.Is(err, fs.ErrNotExist):
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return readableError(name, err)
	case err != nil || old == nil || !os.SameFile(now, old.info) || now.Size() != old.info.Size() || !now.ModTime().Equal(old.info.ModTime()):
		return fmt.Errorf("%s was not changed, because another program has changed it at the same time: read it again", name)
	}
	if err := dir.Rename(temporary, name); err != nil {
		return readableError(name, err)
	}
	return nil
}
