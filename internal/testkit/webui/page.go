package webui

import (
	"fmt"
	"os"

	"github.com/chromedp/chromedp"
)

// Visit opens the page at the given URL. It returns when the page has loaded. It does not wait for data that the page
// requests later.
func (b *Browser) Visit(url string) error {
	if err := chromedp.Do(b.ctx, chromedp.Navigate(url)); err != nil {
		return fmt.Errorf("visit %s: %w", url, err)
	}
	return nil
}

// visibleText is a JavaScript expression for the visible text of the page and of its frames. The Web UI shows Markdown in
// frames, because scripts in the Markdown must not access the page.
const visibleText = `[document, ...[...document.querySelectorAll("iframe")].map(f => f.contentDocument)]
	.map(d => d?.body?.innerText ?? "").join("\n")`

// Text returns the text that is visible on the page now, including its frames.
func (b *Browser) Text() (string, error) {
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](visibleText))
	if err != nil {
		return "", fmt.Errorf("read the text of the page: %w", err)
	}
	return text, nil
}

// Evaluate returns the value of a JavaScript expression in the page, as text.
func (b *Browser) Evaluate(expression string) (string, error) {
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		return "", fmt.Errorf("evaluate %s: %w", expression, err)
	}
	return value, nil
}

// Click clicks the first button with the given text and reports whether there is such a button.
func (b *Browser) Click(text string) (bool, error) {
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](fmt.Sprintf(
		`(b => { b?.click(); return !!b })([...document.querySelectorAll("button")].find(b => b.innerText.trim() === %q))`, text)))
	if err != nil {
		return false, fmt.Errorf("click %s: %w", text, err)
	}
	return found, nil
}

// Press presses keys one after the other, as a person types. A tab is "\t", and the key Enter is "\r". If `ctrl` is true, the key Ctrl is held
// meanwhile.
func (b *Browser) Press(keys string, ctrl bool) error {
	held := chromedp.ModifierNone
	if ctrl {
		held = chromedp.ModifierCtrl
	}
	if err := chromedp.Do(b.ctx, chromedp.KeyEvent(keys, chromedp.KeyModifiers(held))); err != nil {
		return fmt.Errorf("press %q: %w", keys, err)
	}
	return nil
}

// Resize gives the window another size, in CSS pixels.
func (b *Browser) Resize(width, height int) error {
	if _, err := chromedp.Run(b.ctx, chromedp.EmulateViewport(int64(width), int64(height))); err != nil {
		return fmt.Errorf("resize the window: %w", err)
	}
	return nil
}

// Screenshot writes a picture of the window to a PNG file.
func (b *Browser) Screenshot(file string) error {
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return fmt.Errorf("take a screenshot: %w", err)
	}
	return os.WriteFile(file, png, 0o644)
}
