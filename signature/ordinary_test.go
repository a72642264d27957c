package signature_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
)

// ordinary are styles of cards in ordinary mail, in which text is seen.
var ordinary = map[string]string{
	"hsl":           ".card{background:hsl(210,20%,96%)}",
	"text in hsl":   ".card{color:hsl(210,20%,26%);background:hsla(0 0% 100% / .9)}",
	"hwb":           ".card{background:hwb(210 90% 2%)}",
	"variable":      ".card{background:var(--card,#f4f4f4);color:var(--ink, #222)}",
	"Bootstrap":     ".card{background:rgba(var(--bs-light-rgb),var(--bs-bg-opacity))}",
	"new function":  ".card{background:color-mix(in srgb,var(--brand) 10%,white)}",
	"gradient":      ".card{background:linear-gradient(var(--a),var(--b));color:#fff}",
	"width":         ".card{width:calc(100% - 32px);overflow:hidden;border-radius:8px}",
	"border":        ".card{width:calc(100% - 2px);overflow:hidden}",
	"least width":   ".card{max-width:min(600px,100%);overflow:hidden}",
	"clamp":         ".card{max-width:clamp(280px,50vw,600px);overflow:hidden;height:max-content}",
	"padding":       ".card{padding:calc(1rem + 4px)}",
	"centred":       ".card{padding:0 max(16px,calc((100% - 600px) / 2))}",
	"gap":           ".card{padding:var(--gap,16px)}",
	"safe area":     ".card{padding:env(safe-area-inset-top) 20px}",
	"variables":     ".card{padding:var(--bs-modal-padding);z-index:var(--bs-modal-zindex)}",
	"letters":       ".card{letter-spacing:calc(.01em);word-spacing:calc(1px + .1em)}",
	"lines":         ".card{overflow:hidden}.card p{line-height:calc(1em + 8px)}",
	"grid":          ".card{display:grid;grid-template-columns:repeat(2,50%);overflow:hidden}",
	"minmax":        ".card{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));overflow:hidden}",
	"fade in":       "@keyframes in{from{opacity:0}to{opacity:1}}.card{animation:in .5s}",
	"slide in":      "@-webkit-keyframes in{0%{opacity:0;transform:translate3d(0,100%,0)}100%{opacity:1;transform:translate3d(0,0,0)}}.card{-webkit-animation:in 800ms 1s both}",
	"AMP":           "@keyframes -amp-start{from{visibility:hidden}to{visibility:visible}}.card{animation:-amp-start 8s steps(1,end) 0s 1 normal both}",
	"glow":          "@keyframes glow{from{background:#fff}50%{background:#000}to{background-color:#ffd}}.card{animation:glow 2s infinite}",
	"shadow":        ".card{filter:drop-shadow(0 1px 4px #ccc)}",
	"grey":          ".card{filter:grayscale(100%) sepia(.2) saturate(2) hue-rotate(90deg)}",
	"column":        ".card{flex-basis:0;flex-grow:1;max-width:100%;overflow:hidden}",
	"below":         ".card{z-index:-1}",
	"ratio":         ".card{padding-top:100%}",
	"menu":          ".card{position:absolute;top:100%;left:100%}",
	"stroke":        ".card{-webkit-text-stroke:0px #fff;-webkit-text-stroke-width:0}",
	"dark mode":     "u + .body .card{background:#000;color:#fff;mix-blend-mode:screen}u+.body .card p{mix-blend-mode:difference}",
	"letters' size": ".card{font-size:clamp(14px,2vw + .2rem,18px)}",
	"stroke of Mac": ".card{-webkit-text-stroke:#ffffff}",
}

// The report of a mail lists no other mail of its template: what stands in a card counts as shown, so that the words of the
// frame do not sign alone.
func TestOrdinaryStyles(t *testing.T) {
	const frame = "<p>You have a new message at Havenport. The customer wrote to you through the contact form of your shop.</p><div class=card><p>%s</p></div>" +
		"<p>Please answer within two days so that the customer is not kept waiting. You can change which messages we send to you in the settings of your account.</p>"
	rng := rand.New(rand.NewPCG(5, 1))
	of := func(style, words string) signature.Set {
		return signature.Compute(signature.Parse([]byte("Content-Type: text/html\n\n<html><head><style>" + style + "</style></head><body class=body><u></u>" + fmt.Sprintf(frame, words))))
	}
	for name, style := range ordinary {
		words := lengthyFrom(rng, 120)
		reported, plain := of(style, words), of("", words)
		if !slices.Equal(ofKind(reported, signature.KindText), ofKind(plain, signature.KindText)) {
			t.Errorf("%s: a card in %q is not signed as one without a style", name, style)
		}
		if other := of(style, lengthyFrom(rng, 120)); finds(reported, other) {
			t.Errorf("%s: the report of a template with %q lists other mail of it", name, style)
		}
	}
	if hidden := of(".card{display:none}", lengthyFrom(rng, 120)); !finds(hidden, of(".card{display:none}", strings.Repeat("a", 9))) {
		t.Error("the frame of a hidden card does not sign: this test has no effect")
	}
}
