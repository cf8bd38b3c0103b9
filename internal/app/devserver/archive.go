package devserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // for checksums.txt
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// releases is the URL of the official archives of the Temporal CLI. Below it is a folder for each version. The environment
// variable REAGENT_CLI_URL replaces it.
const releases = "https://github.com/temporalio/cli/releases/download"

const (
	maxArchive      = 256 << 20        // bytes; an archive has about 50 MB
	stallTimeout    = 15 * time.Second // how long a server may send nothing
	connectTimeout  = 4 * time.Second  // so that without the internet, the build begins soon
	downloadTimeout = 10 * time.Minute // if the download takes longer, a build is likely to be faster
	downloadTries   = 5
)

// checksums has the SHA-256 of the archives of [CLIVersion], in the format of the file checksums.txt of a release. `make
// cli-checksums` fetches this file.
//
//go:embed checksums.txt
var checksums string

var errWrongSum = errors.New("the archive of the Temporal CLI is not the official one")

type archive struct {
	url   *url.URL
	sum   string // SHA-256, in lower-case hex
	limit int64  // bytes
	stall time.Duration

	received, size atomic.Int64 // bytes, for the progress; size is 0 if it is not known
}

// newArchive returns the archive for an operating system and a processor. The archive is nil if the table does not have its checksum, or if
// REAGENT_CLI_URL is "off". Any other value of this variable that is not an http or https URL is an error.
func newArchive(table, goos, goarch string) (*archive, error) {
	name := fmt.Sprintf("temporal_cli_%s_%s_%s", strings.TrimPrefix(CLIVersion, "v"), goos, goarch)
	if goos == "windows" {
		name += ".zip"
	} else {
		name += ".tar.gz"
	}
	base := cmp.Or(os.Getenv("REAGENT_CLI_URL"), releases)
	sum := checksum(table, name)
	if base == "off" || sum == "" {
		return nil, nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, errors.New(`REAGENT_CLI_URL must be a URL that begins with https:// or http://, or "off"`)
	}
	return &archive{url: u.JoinPath(CLIVersion, name), sum: sum, limit: maxArchive, stall: stallTimeout}, nil
}

// checksum returns "" if the table does not have the file.
func checksum(table, name string) string {
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[1] == name {
			return strings.ToLower(fields[0])
		}
	}
	return ""
}

// fetch downloads the archive and extracts the CLI into the folder `scratch`. The download is the file `part`. If an earlier
// process was stopped and has left this file, fetch continues the download. If fetch takes long, it reports to `progress` how far
// the download is.
func (a *archive) fetch(ctx context.Context, part, scratch string, progress io.Writer) error {
	over := elapsed(progress, a.label, func(previous time.Duration) time.Duration {
		if previous == 0 {
			return 2 * time.Second
		}
		return nextTick(previous)
	})
	defer over()
	ctx, cancel := context.WithTimeoutCause(ctx, downloadTimeout, fmt.Errorf("the download took more than %s", downloadTimeout))
	defer cancel()
	for resumed := isFile(part); ; resumed = false {
		if err := a.download(ctx, part); err != nil {
			return fmt.Errorf("GET %s: %w", a.url.Redacted(), err)
		}
		// In `scratch`, no other process changes the file between the check and its use. A wrong file is removed with the folder.
		whole := filepath.Join(scratch, path.Base(a.url.Path))
		if err := os.Rename(part, whole); err != nil {
			return err
		}
		err := a.check(whole)
		switch {
		case err == nil:
			return extract(whole, scratch)
		case !resumed || !errors.Is(err, errWrongSum):
			return err
		}
		// The part that was there may have been wrong, so the download begins again.
	}
}

// download completes the file `part`. If the connection is lost, it asks for the rest, up to [downloadTries] times in all. It gives up if
// an attempt brings nothing new.
func (a *archive) download(ctx context.Context, part string) error {
	client := &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout: connectTimeout,
		DisableCompression:  true, // the transport would decompress the archive
	}}
	defer client.CloseIdleConnections()
	for try := 1; ; try++ {
		had := fileSize(part)
		err := a.request(ctx, client, part)
		if err == nil || ctx.Err() != nil || try == downloadTries || fileSize(part) <= had {
			return err
		}
	}
}

// request asks for the bytes that the file `part` lacks, and appends them. It does not check what the server says about them,
// because the checksum shows whether the file is right.
func (a *archive) request(ctx context.Context, client *http.Client, part string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(a.stall, func() { cancel(fmt.Errorf("the server sent nothing for %s", a.stall)) })
	defer stalled.Stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url.String(), nil)
	if err != nil {
		return err
	}
	offset := fileSize(part)
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	resp, err := client.Do(req)
	if err != nil {
		if failed := (*url.Error)(nil); errors.As(err, &failed) {
			err = failed.Err // after a redirect, the URL in the error is long and may contain a token
		}
		return cmp.Or(context.Cause(ctx), err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusPartialContent:
	case resp.StatusCode == http.StatusOK:
		offset = 0 // the server sends the whole file
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && offset > 0:
		return nil // the file has nothing behind the offset
	default:
		return errors.New("HTTP " + resp.Status)
	}
	a.received.Store(offset)
	if resp.ContentLength > 0 {
		a.size.Store(offset + resp.ContentLength)
	}
	body := io.TeeReader(resp.Body, writerFunc(func(p []byte) (int, error) {
		stalled.Reset(a.stall)
		a.received.Add(int64(len(p)))
		return len(p), nil
	}))
	// A longer file is cut, and then has a wrong checksum.
	if err := writeAt(part, offset, io.LimitReader(body, a.limit-offset)); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}

// writeAt replaces all bytes of a file from an offset on. It creates the file if necessary.
func writeAt(path string, offset int64, from io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(offset); err != nil {
		return err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(f, from); err != nil {
		return err
	}
	return f.Close()
}

// check returns [errWrongSum] if a file does not have the checksum of the archive.
func (a *archive) check(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, f)
	if err != nil {
		return err
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != a.sum {
		return fmt.Errorf("%w: %s sent %d bytes with the SHA-256 %s, not %s", errWrongSum, a.url.Redacted(), size, sum, a.sum)
	}
	return nil
}

func (a *archive) label() string {
	text := fmt.Sprintf("Fetching the Temporal CLI %s from %s (%d", CLIVersion, a.url.Host, a.received.Load()>>20)
	if size := a.size.Load(); size > 0 {
		text += fmt.Sprintf(" of %d", size>>20)
	}
	return text + " MB)"
}

// fileSize returns the size of a file, or 0 if it does not exist or cannot be read.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
