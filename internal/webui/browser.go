// Package webui reads pages of the Temporal Web UI in a real browser, for the
// tests that hold what a person sees there and for the picture in the README.
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

// ErrNoBrowser says that there is no Chromium on this machine.
var ErrNoBrowser = errors.New("no Chromium: none of chromium, chromium-browser, google-chrome is on the PATH (Debian: apt-get install chromium)")

// Browser is a running Chromium with one page. It is not safe for concurrent use.
type Browser struct {
	ctx   context.Context
	close func()
}

// Size of the window, in pixels of CSS. It is what a laptop shows.
const (
	Width  = 1280
	Height = 970
)

// Open starts Chromium without a window, with a profile that is gone after Close.
// The context is for the whole life of the browser.
func Open(ctx context.Context) (*Browser, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	profile, err := os.MkdirTemp("", "reagent-webui-")
	if err != nil {
		return nil, fmt.Errorf("profile of the browser: %w", err)
	}
	allocated, stop := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.UserDataDir(profile),
		// Root in a container has no sandbox, and pages here are our own.
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		// A browser that starts beside other tests on two cores takes its time.
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

// Close ends the browser.
func (b *Browser) Close() { b.close() }

func find() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoBrowser
}
