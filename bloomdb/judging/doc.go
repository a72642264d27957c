// Package judging says what a message is by the filters: whether it is listed, as what and
// by whom, and how often it was seen.
//
//	ask     the positions of a message's signatures under each key
//	gather  what the filters of one keyspace contain of it; no rule is applied
//	unite   the facts of two keyspaces, while the federation key is rolled over
//	decide  what they mean by a Policy; the never-list comes last
//
// All of it is in judge.go, in this order. What is not known to any filter is known after
// the first batch of lookups. Explain and its kin trace the same filters for people.
//
// It owns no state: keyspaces hold what is known, and the caller the policy. It takes only
// read locks, those of the never-list and of masks, and one at a time. No I/O.
package judging
