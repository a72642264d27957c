// Package variation changes a message as people who send one message in a million
// copies change it: the way it is written down, its markup, its words, what stands
// around it. It owns the kinds of variation and what peers and we want to reach in
// each; it judges nothing.
//
//	raw message --Parse--> Mail --Kind.Vary(seed, material)--> raw message
//
// A kind draws all that it draws from the seed and the message's name, so that a
// copy can be made again. Every copy is a message that mail programs read.
package variation
