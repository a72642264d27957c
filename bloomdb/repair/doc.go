// Package repair contains damage. It sets a damaged file aside if the database can do without it,
// and salvages the intact parts of one that it needs.
//
//	Files.Contain    a damaged file -> NAME.damaged, or an error if it contains own reports
//	Mending          collects what Repair did, for its report
//	CheckNames       damaged names and numbers of files -> an error; MendIdentities corrects them first
//	SalvageBlocks    the blocks of a snapshot whose checksum is right
//
// Package keyspace calls it while a folder is opened. asideMu guards the list of damaged
// files, and Saved while Open reads files; it is taken last.
package repair
