package attempt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// folderBytes limits the total size of the files in a folder, in bytes. Each process may exceed it by about an eighth,
	// because a process removes files only after it has written that much.
	folderBytes = 256 << 20
	// folderAge is the maximum age of a file that is used. Temporal has long had the results in older files.
	folderAge = 7 * 24 * time.Hour
	// fileSuffix and temporaryPrefix identify the files that a folder writes. Other files in the same directory are never
	// removed.
	fileSuffix      = ".kept.json"
	temporaryPrefix = ".kept-"
)

// folder stores the results of model calls and tool calls in a directory, one file for each call, so that the results survive
// a crash of the worker. Several processes may use the same directory. A folder is safe for concurrent use.
//
// A crash of the process leaves no incomplete result, because each file is written under a temporary name and renamed when it
// is complete. A crash of the machine may leave a file empty or missing, because files are not synced.
type folder struct {
	dir string
	// bytes is the maximum size of all files together, in bytes.
	bytes int64
	// age is the maximum age of a file that is used.
	age time.Duration

	mu sync.Mutex
	// written is the number of bytes that this process has written since the last call of [folder.prune].
	written int64
}

// openFolder returns a folder that stores its files in the given directory. It creates the directory if there is none, and
// removes old files: see [folder.prune]. It returns an error if it cannot create, write or list the directory, or cannot remove an old
// file.
func openFolder(dir string) (*folder, error) {
	f := &folder{dir: dir, bytes: folderBytes, age: folderAge}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the folder for results (ResultsDir): %w; create it yourself, or set another one", err)
	}
	probe, err := os.CreateTemp(dir, temporaryPrefix)
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write to the folder for results (ResultsDir): %w; make the folder writable, or set another one", err)
	}
	return f, f.prune()
}

// fileKey matches the keys that may be part of a file name. Keys come from workflows, and a key that does not match could name
// a file outside of the directory.
var fileKey = regexp.MustCompile(`^[a-z]+-[0-9a-z]{1,64}$`)

// path returns the file of a key. The key must match [fileKey]: another key could name a file outside of the directory.
func (f *folder) path(key string) string { return filepath.Join(f.dir, key+fileSuffix) }

// write stores a result under the given key, in place of an earlier result. It returns an error if the key does not match
// [fileKey], or if the file cannot be written.
func (f *folder) write(key string, data []byte) error {
	if !fileKey.MatchString(key) {
		return fmt.Errorf("the key %q cannot be part of a file name in the folder for results (ResultsDir); use a key such as tool-0123456789abcdef", key)
	}
	t, err := os.CreateTemp(f.dir, temporaryPrefix) // with mode 0600
	if err != nil {
		return err
	}
	_, err = t.Write(data)
	if err = errors.Join(err, t.Close()); err == nil {
		err = os.Rename(t.Name(), f.path(key))
	}
	if err != nil {
		return errors.Join(err, os.Remove(t.Name()))
	}
	f.mu.Lock()
	f.written += int64(len(data))
	full := f.written > f.bytes/8
	f.mu.Unlock()
	if full {
		_ = f.prune() // the result is written; the next prune removes what this one could not
	}
	return nil
}

// read returns the result that is stored under the given key. It returns nil if there is no file, if the file is too old, or
// if the key does not match [fileKey]. It returns an error if the file is empty or cannot be read.
func (f *folder) read(key string) ([]byte, error) {
	if !fileKey.MatchString(key) {
		return nil, nil
	}
	info, err := os.Stat(f.path(key))
	if errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(info.ModTime()) > f.age {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(f.path(key))
	if errors.Is(err, fs.ErrNotExist) { // another process has removed it
		return nil, nil
	}
	if err == nil && len(data) == 0 {
		return nil, fmt.Errorf("the stored result %s is empty: the machine may have crashed during the write; delete the file if this error comes again", f.path(key))
	}
	return data, err
}

// prune removes the files that are too old. Then it removes the oldest files until the remaining files are within the
// folder's size limit.
func (f *folder) prune() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written = 0
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return fmt.Errorf("cannot list the folder for results (ResultsDir): %w; make the folder readable, or set another one", err)
	}
	var files []fs.FileInfo
	for _, entry := range entries {
		name := entry.Name()
		if !entry.Type().IsRegular() || !strings.HasSuffix(name, fileSuffix) && !strings.HasPrefix(name, temporaryPrefix) {
			continue
		}
		if info, err := entry.Info(); err == nil { // an error means that another process has removed the file
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var total int64
	var problems []error
	for _, info := range files {
		total += info.Size()
		if total <= f.bytes && time.Since(info.ModTime()) <= f.age {
			continue
		}
		if err := os.Remove(filepath.Join(f.dir, info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
