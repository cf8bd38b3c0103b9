// Package webui reads pages of the Temporal Web UI in a real browser. It is for tests that check what people see there, and for
// the picture in the README.
package webui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/chromedp/chromedp"
)

// ErrNoBrowser is the error of [Open] if there is no Chromium on the PATH.
var ErrNoBrowser = errors.New("no Chromium: none of chromium, chromium-browser, google-chrome is on the PATH (Debian: apt-get install chromium)")

// Browser is a running Chromium with one page. It is not safe for concurrent use.
type Browser struct {
	ctx   context.Context
	close func()
}

// Width and Height are the size of the browser window in CSS pixels. A window on a laptop has about this size.
const (
	Width  = 1280
	Height = 970
)

// Open starts Chromium in headless mode with a temporary profile. [Browser.Close] removes this profile. The browser ends when
// the context ends.
func Open(ctx context.Context) (*Browser, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	profile, err := os.MkdirTemp("", "reagent-webui-")
	if err != nil {
		return nil, fmt.Errorf("create the profile of the browser: %w", err)
	}
	allocated, stop := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.UserDataDir(profile),
		// The sandbox does not work for root in a container. It is not needed, because all pages are our own.
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		// The browser starts slowly if other tests run at the same time on two cores.
		chromedp.WSURLReadTimeout(time.Minute),
	)...)
	page, cancel := chromedp.NewContext(allocated)
	b := &Browser{ctx: page, close: func() {
		cancel()
		stop()
		os.RemoveAll(profile)
	}}
	if _, err := chromedp.Run(page, chromedp.EmulateViewport(Width, Height)); err != nil {
		b.close()
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return b, nil
}

// Close ends the browser and removes its profile.
func (b *Browser) Close() { b.close() }

func find() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoBrowser
}
