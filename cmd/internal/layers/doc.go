// Package layers holds the tests of how the program is put together: which
// package may import which, which parts of the standard library a package must
// do without, what stands at the top of the repository, and how long a file may
// be. It has no code of its own.
//
// The tests read the sources themselves. The answer of a child process such as
// go list would be cached with the test's result, and a forbidden import would
// pass.
package layers
