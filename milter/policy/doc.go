// Package policy decides what happens to a message: evidence to verdict to action.
//
// It owns the policies and allow rules of the administrator, the verdicts and actions, and
// the results of the MTA's own verifier that an allow rule may rely on (RFC 8601). It does
// not judge: evidence comes from package bloomdb. Everything here is pure, without locks,
// and comes from Settings.
//
//	skip?   Rules.IsLocal, Skip    before anything is judged
//	allow?  Rules.Allowed          a rule for each of its recipients
//	decide  Rules.Decide           the policy of each recipient; the mildest applies
package policy
