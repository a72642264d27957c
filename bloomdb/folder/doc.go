// Package folder reads and writes the files of the state folder, whatever their content: how
// a file begins and ends (FileForm, SealedForm), how it is replaced atomically, how it is read
// in spite of disk faults, which file is damaged, and the identity, which records the owner of
// a folder. The byte formats are in bloomdb/FORMAT.md.
//
//	write   temporary file -> fsync -> rename -> fsync of the folder
//	read    head with version and key -> content -> checksum; else DamageError or ErrNewer
//
// It does not interpret journals, snapshots and lists, and has no locks: one process uses the
// folder, and the owner of a file serialises its changes.
package folder
