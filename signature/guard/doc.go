// Package guard recognises mail that programs send in nearly the same words to many people:
// codes, invitations, bounces, automatic replies, list reminders. A report of such mail by
// mistake must not list it. The package owns the words and rules; package signature decides
// what a guarded message signs. It has no state but its phrases, which are made once.
package guard
