// Package variation changes a message like senders of a million copies do: its encoding,
// its markup, its words, and the text around it. It owns the kinds of variation, and the
// figures of peers and our aims for each; it judges nothing.
//
//	raw message --message.Parse--> Mail --Kind.Vary(seed, material)--> raw message
//
// Package message owns the parts of a message and their text.
//
// A kind draws all random choices from the seed and the message's name, so that a copy
// can be reproduced. Every copy is a message that mail programs can read.
package variation
