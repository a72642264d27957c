// Package repair contains damage: it sets a damaged file aside if the database can do
// without it, and reads what is whole of one that it needs.
//
//	Files.Contain    a damaged file -> NAME.damaged, or an error if it holds own reports
//	Mending          what Repair did, for its report
//	SalvageBlocks    the blocks of a snapshot whose checksum is right
//
// Package keyspace calls it while a folder is opened. asideMu guards the list of damaged
// files, and Saved while Open reads files; it is taken last.
package repair
