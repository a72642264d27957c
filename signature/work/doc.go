// Package work bounds the cost of signing one message: its budget in steps, the limits that
// were reached, and the buffers that are kept for the next message. It has no locks; the
// values belong to one call of signature.Compute. FORMAT.md, "Cost" and "Limits", has the
// figures. The stages of signing own their other limits.
package work
