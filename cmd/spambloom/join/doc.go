// Package join is the verbs invite and join, by which a site joins a federation: each prints
// a line that the other one reads (package invitation).
//
//	joining site            member
//	join                 -> invite REQUEST      the request names the site and its key
//	join INVITATION      <- the invitation      the federation key is sealed for the site
//
// It owns the steps and the changes of configuration and key files. It starts nothing and
// does not use the network: the daemon takes the changes at its next start.
package join
