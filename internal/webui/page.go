package webui

import (
	"fmt"
	"os"

	"github.com/chromedp/chromedp"
)

// Visit goes to a page. It does not wait for what the page loads afterwards.
func (b *Browser) Visit(url string) error {
	if err := chromedp.Do(b.ctx, chromedp.Navigate(url)); err != nil {
		return fmt.Errorf("visit %s: %w", url, err)
	}
	return nil
}

// visibleText is the page's text and that of its frames, in which the Web UI shows
// Markdown so that nothing in it can script the page.
const visibleText = `[document, ...[...document.querySelectorAll("iframe")].map(f => f.contentDocument)]
	.map(d => d?.body?.innerText ?? "").join("\n")`

// Text is what can be read on the page now.
func (b *Browser) Text() (string, error) {
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](visibleText))
	if err != nil {
		return "", fmt.Errorf("text of the page: %w", err)
	}
	return text, nil
}

// Click clicks the first button with that text and reports whether there is one.
func (b *Browser) Click(text string) (bool, error) {
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](fmt.Sprintf(
		`(b => { b?.click(); return !!b })([...document.querySelectorAll("button")].find(b => b.innerText.trim() === %q))`, text)))
	if err != nil {
		return false, fmt.Errorf("click %s: %w", text, err)
	}
	return found, nil
}

// Screenshot writes a picture of the window to a PNG file.
func (b *Browser) Screenshot(file string) error {
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return fmt.Errorf("screenshot: %w", err)
	}
	return os.WriteFile(file, png, 0o644)
}
