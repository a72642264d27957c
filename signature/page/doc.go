// Package page reads what an HTML page shows, in one pass over its tokens: text, stretches
// that are plainly hidden or quoted, and references to other places. It builds no tree.
//
// A Reader reads the pages of one message, one after the other, and keeps their text until
// Reset. It stops where the budget is used up. The tokenizer (markup), style sheets (sheet)
// and what hides an element (style) are its parts; the syntax and measures of CSS are in package css,
// colours in package colour. Links are found in its references by
// package links.
package page
