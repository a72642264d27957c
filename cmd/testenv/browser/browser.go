// Package browser starts Debian's Chromium for tests, and holds the steps that no test of a page
// gets right by itself.
package browser

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// lean are the flags by which each page of a test is one process, and not two or three: a page that
// was left is not kept for the way back, so that the next one needs no process of its own, and none
// is started in advance. The flag for features replaces chromedp's, and repeats its names.
var lean = []chromedp.ExecAllocatorOption{
	chromedp.Flag("disable-back-forward-cache", true),
	chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,SpareRendererForSitePerProcess"),
}

// Open starts the browser of a path, with one tab, and returns both: chromedp.NewContext opens more
// tabs from the context. The function returned ends it.
func Open(path string) (context.Context, func(), error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(testenv.Patience))
	allocated, end := chromedp.NewExecAllocator(context.Background(), append(options, lean...)...)
	tab, endTab := chromedp.NewContext(allocated)
	return tab, func() { endTab(); end() }, chromedp.Do(tab)
}

// Click clicks an element in one step: a refresh, or the notice of a new document, may come between
// the search for an element and its use.
func Click(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](fmt.Sprintf("document.querySelector(%q).click()", selector))
}

// Shows waits for an element of a page that the browser has read to the end: until then, what
// follows the element is missing.
func Shows(selector string) chromedp.Action[chromedp.Void] {
	state := chromedp.Evaluate[string]("document.readyState")
	return chromedp.Steps(chromedp.WaitReady(chromedp.CSS(selector)), func(ctx context.Context, tab *chromedp.Target) (void chromedp.Void, _ error) {
		for {
			if now, err := state(ctx, tab); err != nil || now == "complete" {
				return void, err
			}
			select {
			case <-ctx.Done():
				return void, ctx.Err()
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
}
