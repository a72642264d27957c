// Package archive makes digests of the content of archives (ZIP, gzip, tar, documents of
// Office) and PDFs, whatever their packing, names and order.
//
// An Unpacker reads those of one message, within a budget of inflated bytes that grows with
// their size, and stops within 4 KiB of packed data if it is told to. It belongs to one
// goroutine and keeps no content.
package archive
