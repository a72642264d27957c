// Package span marks stretches of a text, in bytes, with the author of their words. It owns
// how stretches are sorted, joined and cut out, not how they are found.
package span
