// Package layers contains the tests of the program's structure: which package may import
// which, which parts of the standard library are forbidden to a package, which entries the
// top of the repository has, and how long a file may be. It contains no other code.
//
// The tests read the sources themselves. The output of a child process such as go list
// would be cached with the test's result, and a forbidden import would pass.
package layers
