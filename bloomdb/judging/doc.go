// Package judging decides whether the filters list a message, in which class and by which sites,
// and how often it was seen.
//
//	ask     positions of the message's signatures under each key
//	gather  facts about the message in the filters of one keyspace; no rule is applied
//	unite   the facts of two keyspaces, during a change of the federation key
//	decide  the verdict by a Policy; the never-list is applied last
//
// All of it is in judge.go, in this order. For a message in no filter, the first batch of
// lookups is the only one. ExplainDomains returns what the same filters contain about link
// domains, for people to read; package explain does so for the rest.
//
// The package has no state: keyspaces contain the data, and the caller has the policy. It takes
// only read locks, those of the never-list and of masks, one at a time. It does no I/O.
package judging
