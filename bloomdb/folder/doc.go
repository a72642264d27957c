// Package folder is the state folder on disk, below any content: how a file begins and ends
// (FileForm, SealedForm), how it is replaced without a moment in which it is half written,
// how it is read in spite of faults, which file is damaged, and the identity, which records
// whose state a folder holds. The byte formats are in bloomdb/FORMAT.md.
//
//	write   temporary file -> fsync -> rename -> fsync of the folder
//	read    head with version and key -> content -> checksum; else DamageError or ErrNewer
//
// It does not know what journals, snapshots and lists contain, and has no locks: one process
// has the folder, and the owner of a file serialises its changes.
package folder
