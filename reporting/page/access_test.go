package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"

	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/page/pagetest"
)

// barriers is a check of a page in the browser, which returns what would keep somebody from using
// it. The numbers are those of success criteria of WCAG 2.2: language and title (3.1.1, 2.4.2),
// labels (3.3.2), names (4.1.2), links without colour (1.4.1), scrolling with keys (2.1.1), cells' headings (1.3.1), contrast of text (1.4.3) and of bars,
// signs and fields (1.4.11), reflow (1.4.10), size of buttons and fields (2.5.8).
const barriers = `(async () => {
  // A page can be read before its style sheet is here.
  if (document.readyState !== "complete") await new Promise((loaded) => addEventListener("load", loaded, {once: true}));
  const wrong = [];
  const name = (e) => e.tagName + (e.id ? "#" + e.id : "") + " " + (e.textContent || "").trim().slice(0, 30);
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
  if (!document.documentElement.lang || !document.title) wrong.push("no language or title");
  for (const e of document.querySelectorAll("input:not([type=hidden]),select,textarea"))
    if (!e.labels.length && !e.getAttribute("aria-label")) wrong.push("no label: " + e.name);
  for (const e of document.querySelectorAll("a,button")) if (!e.textContent.trim()) wrong.push("no words: " + e.outerHTML);
  for (const e of document.querySelectorAll("th")) if (!e.scope) wrong.push("no scope: " + name(e));
  for (const e of document.querySelectorAll("svg")) if (!e.getAttribute("aria-label") && !e.getAttribute("aria-hidden")) wrong.push("svg without a name");
  const here = [...document.querySelectorAll("nav a")].filter((a) => a.pathname === location.pathname);
  if (here.some((a) => a.getAttribute("aria-current") !== "page") || document.querySelectorAll("nav [aria-current]").length !== here.length) wrong.push("the current page is not marked");
  for (const svg of document.querySelectorAll("svg")) {
    const texts = [...svg.querySelectorAll("text")].map((e) => [e.textContent, e.getBoundingClientRect()]);
    for (const [i, [text, a]] of texts.entries()) for (const [other, b] of texts.slice(i + 1))
      if (a.width && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) wrong.push("labels overlap: " + text + " and " + other);
  }
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id twice");
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("wider than the screen: " + document.documentElement.scrollWidth);
  for (const e of document.querySelectorAll("main a, footer a"))
    if (e.getClientRects().length && !getComputedStyle(e).textDecorationLine.includes("underline")) wrong.push("a link told from text by its colour only: " + name(e));
  for (const e of document.querySelectorAll("main *"))
    if (e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(e).overflowX) && e.tabIndex < 0) wrong.push("scrolls with the mouse only: " + name(e));
  if (innerWidth >= 360) for (const e of document.querySelectorAll(".scroll"))
    if (e.scrollWidth > e.clientWidth + 1) wrong.push("a table wider than the screen: " + e.getAttribute("aria-label") + " " + e.scrollWidth);
  const light = (c) => {
    const part = c.match(/[\d.]+/g).map(Number);
    const v = part.slice(0, 3).map((x) => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return [0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2], part.length > 3 ? part[3] : 1];
  };
  for (const e of document.querySelectorAll("main *, header *, footer *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.getClientRects().length || e.closest(".skip")) continue;
    const style = getComputedStyle(e);
    let back = e;
    while (back.parentElement && light(getComputedStyle(back).backgroundColor)[1] === 0) back = back.parentElement;
    const a = light(e.namespaceURI.includes("svg") ? style.fill : style.color)[0], b = light(getComputedStyle(back).backgroundColor)[0];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) wrong.push("contrast " + contrast.toFixed(1) + ": " + name(e));
  }
  const ground = (e) => {
    while (e.parentElement && light(getComputedStyle(e).backgroundColor)[1] === 0) e = e.parentElement;
    return light(getComputedStyle(e).backgroundColor)[0];
  };
  for (const e of document.querySelectorAll("svg rect, .dot, input:not([type=hidden]), select, textarea, main button")) {
    if (!e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    const a = light(e.matches("rect") ? style.fill : e.matches(".dot") ? style.backgroundColor : style.borderTopColor)[0], b = ground(e.parentElement);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 3) wrong.push("contrast " + contrast.toFixed(1) + " of " + e.tagName + " " + e.getAttribute("class"));
    const box = e.getBoundingClientRect();
    if (!e.matches("rect, .dot") && (box.width < 24 || box.height < 24)) wrong.push("hard to hit: " + name(e));
  }
  return [...new Set(wrong)];
})()`

// No page has a barrier, at 320, 360 and 1,280 pixels, light and dark, on an empty, a busy and a
// broken site, and one with sites in each bad state. Browsers offer assistive programs one main part, one heading for each section, and a name
// for all that can be used.
func TestAccessibility(t *testing.T) {
	for kind, fill := range map[string]func(*pagetest.Site) *pagetest.Site{
		"empty": (*pagetest.Site).Empty, "busy": (*pagetest.Site).Busy, "broken": func(s *pagetest.Site) *pagetest.Site { return s.Busy().Break() }, "ill": (*pagetest.Site).Ill,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			site, tab := fill(pagetest.New(t)), newTab(t)
			s := httptest.NewServer(site.Handler)
			defer s.Close()
			signIn(t, tab, s.URL+site.Link("root", pagetest.Root))
			all := maps.Clone(pages)
			site.Tokens, all["sign-in"] = map[string]string{secret: "helpdesk"}, "/sign-in"
			all["problem"], all["contested"], all["known"] = "/explain?ask=no+id!", "/campaigns?only=contested", "/explain?ask="+desktest.Letter(20, 0).Counting[0].ID()
			for name, path := range all {
				screen(t, tab, 1280, false)
				do(t, tab, chromedp.Navigate(s.URL+path))
				for _, wrong := range offered(t, tab) {
					t.Errorf("%s: %s", name, wrong)
				}
				for _, width := range []int64{320, 360, 1280} {
					do(t, tab, chromedp.EmulateViewport(width, 900))
					for _, dark := range []bool{false, true} {
						colours(t, tab, dark)
						if wrong := ask(t, tab, chromedp.Evaluate[[]string](barriers, chromedp.EvalAwaitPromise)); len(wrong) > 0 {
							t.Errorf("%s, %d px, dark %v: %q", name, width, dark, wrong)
						}
					}
				}
				paper(t, tab)
				if wrong := append(ask(t, tab, chromedp.Evaluate[[]string](barriers, chromedp.EvalAwaitPromise)), ask(t, tab, chromedp.Evaluate[[]string](offPaper))...); len(wrong) > 0 {
					t.Errorf("%s on paper: %q", name, wrong)
				}
			}
		})
	}
}

// offPaper returns what is of no use on paper: a dark ground, what is beside the sheet, and what
// is to be clicked.
const offPaper = `[...document.querySelectorAll("body, main *")].filter((e) => e.getClientRects().length).flatMap((e) => {
  const wrong = [], style = getComputedStyle(e);
  if (!["rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"].includes(style.backgroundColor) && !e.closest("svg, .dot")) wrong.push("dark: " + e.tagName);
  if (e.getBoundingClientRect().right > innerWidth + 1) wrong.push("beside the sheet: " + e.tagName + " " + e.textContent.trim().slice(0, 30));
  if (/^(BUTTON|INPUT|SELECT|TEXTAREA|SUMMARY)$/.test(e.tagName)) wrong.push("to be clicked: " + e.outerHTML.slice(0, 80));
  return wrong;
})`

// named are the roles that are of no use without a name.
var named = []string{"link", "button", "textbox", "searchbox", "combobox", "Date", "image", "img", "meter", "navigation", "heading", "columnheader", "DisclosureTriangle"}

// offered returns what is wrong with the tree that Chromium offers to assistive programs:
// landmarks, levels of headings (WCAG 1.3.1), names (4.1.2).
func offered(t *testing.T, tab context.Context) (wrong []string) {
	t.Helper()
	tree, err := chromedp.Call(tab, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		t.Fatal(err)
	}
	landmarks, level := map[string]int{}, 0
	nodes := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range tree.Nodes {
		nodes[n.NodeID] = n
	}
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		role, name := text(n.Role), text(n.Name)
		if slices.Contains(named, role) && name == "" {
			wrong = append(wrong, "a "+role+" without a name")
		}
		if role == "LayoutTable" || role == "table" && !hasHeader(nodes, n) {
			wrong = append(wrong, "a table without headers: "+name)
		}
		landmarks[role]++
		for _, p := range n.Properties {
			if p.Name == "focusable" && name == "" && role != "RootWebArea" {
				wrong = append(wrong, "a "+role+" that can be used has no name")
			}
			if next := 0; role == "heading" && p.Name == "level" && json.Unmarshal(p.Value.Value, &next) == nil {
				if next > level+1 {
					wrong = append(wrong, fmt.Sprintf("heading %q of level %d follows one of %d", name, next, level))
				}
				level = next
			}
		}
	}
	for _, role := range []string{"banner", "main", "contentinfo"} {
		if landmarks[role] != 1 {
			wrong = append(wrong, fmt.Sprintf("%d times %s", landmarks[role], role))
		}
	}
	if landmarks["navigation"] == 0 || landmarks["heading"] == 0 {
		wrong = append(wrong, "no navigation, or no heading")
	}
	return wrong
}

// hasHeader reports whether a table, or a part of one, has the header of a column.
func hasHeader(nodes map[accessibility.NodeID]*accessibility.Node, n *accessibility.Node) bool {
	return n != nil && (text(n.Role) == "columnheader" || slices.ContainsFunc(n.ChildIDs, func(id accessibility.NodeID) bool { return hasHeader(nodes, nodes[id]) }))
}

func text(v *accessibility.Value) (s string) {
	if v != nil {
		_ = json.Unmarshal(v.Value, &s) // "": not a text
	}
	return s
}

// focus returns the number of the element that has the focus among those that can be used, and
// whether one can see it; -1: none of them.
const focus = `(() => {
  const e = document.activeElement, style = getComputedStyle(e);
  return [[...document.querySelectorAll("a[href],button,input:not([type=hidden]),select,textarea,summary")].indexOf(e),
    style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 ? 1 : 0];
})()`

// With the tabulator one comes to everything that can be used, in the order in which it is
// written, sees where one is, and is not held anywhere (WCAG 2.1.1, 2.1.2, 2.4.3, 2.4.7).
func TestKeyboard(t *testing.T) {
	t.Parallel()
	site, tab := pagetest.New(t).Small(), newTab(t)
	s := httptest.NewServer(site.Handler)
	defer s.Close()
	signIn(t, tab, s.URL+site.Link("root", pagetest.Root))
	for name, path := range pages {
		do(t, tab, chromedp.Navigate(s.URL+path))
		all := ask(t, tab, chromedp.Evaluate[int](`document.querySelectorAll("a[href],button,input:not([type=hidden]),select,textarea,summary").length`))
		next := 0
		for range 3 * all { // a field for a date has several stops
			do(t, tab, chromedp.KeyEvent("\t"))
			at := ask(t, tab, chromedp.Evaluate[[]int](focus))
			if at[0] == next && at[1] == 0 {
				t.Errorf("%s: the focus on element %d cannot be seen", name, next)
			}
			if at[0] == next {
				next++
			} else if at[0] >= 0 && at[0] != next-1 { // -1: a table that scrolls, or the browser itself
				break
			}
		}
		if next != all {
			t.Errorf("%s: the tabulator comes to %d of %d elements", name, next, all)
		}
	}
}

// Programs look at links, and browsers fetch pages before their users ask for them. A link of the
// command signs its user in afterwards.
func TestLinkStaysGood(t *testing.T) {
	site := pagetest.New(t)
	v, link := newVisit(t, site), site.Link("root", pagetest.Root)
	for method, purpose := range map[string]string{"HEAD": "", "GET": "prefetch;prerender"} {
		r := httptest.NewRequest(method, link, nil)
		r.Header.Set("Sec-Purpose", purpose)
		if w := v.do(r); w.Code != http.StatusNoContent || len(w.Result().Cookies()) != 0 {
			t.Errorf("%s: %d, cookies %v", method, w.Code, w.Result().Cookies())
		}
	}
	if w := v.get(link); w.Code != http.StatusOK || len(w.Result().Cookies()) != 1 {
		t.Errorf("the user's request: %d", w.Code)
	}
}
