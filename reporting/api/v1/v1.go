// Package v1 lists the endpoints of version 1 of the control API: the path of each, with
// the type of its request and the type of its answer. Client and server take both from
// here, so that they cannot differ.
package v1

import "github.com/spambloom/spambloom/reporting/api"

// Get is the path of an endpoint that takes no request and answers A.
type Get[A any] string

// Post is the path of an endpoint that takes the request Q and answers A.
type Post[Q, A any] string

// Questions about messages. They change nothing.
const (
	Check   Post[api.Request, api.Answer]            = "/v1/check"
	Explain Post[api.SenderRequest, api.Explanation] = "/v1/explain"
	Lookup  Post[api.LookupRequest, api.Lookup]      = "/v1/lookup"
)

// Reports. The change is on disk when the answer arrives.
const (
	Report   Post[api.Request, api.Receipt]       = "/v1/report"
	Revoke   Post[api.Request, api.Receipt]       = "/v1/revoke"
	RevokeID Post[api.LookupRequest, api.Receipt] = "/v1/revoke/id"
	Undo     Post[api.UndoRequest, api.Undone]    = "/v1/undo"
)

// The reports that are kept, their reporters, and other actions of users. SetWeight and Settle are on disk when the
// answer arrives.
const (
	Reports   Post[api.TrailRequest, api.ReportTrail]   = "/v1/reports"
	Reporters Post[api.ReportersRequest, api.Reporters] = "/v1/reporters"
	SetWeight Post[api.WeightRequest, api.Reporter]     = "/v1/reporters/weight"
	Contested Post[api.ContestedRequest, api.Contested] = "/v1/reports/contested"
	Settle    Post[api.SettleRequest, api.Receipt]      = "/v1/reports/settle"
	Actions   Post[api.ActionsRequest, api.Actions]     = "/v1/actions"
)

// Corrections on this site only. All but PlanRetouch are on disk when the answer arrives.
const (
	Retouch     Post[api.Request, api.Retouching]     = "/v1/retouch"
	PlanRetouch Post[api.Request, api.Retouching]     = "/v1/retouch/plan"
	Retouched   Get[api.RetouchedList]                = "/v1/retouched"
	Never       Post[api.NeverRequest, api.NeverList] = "/v1/never"
	RemoveNever Post[api.NeverRequest, api.NeverList] = "/v1/never/remove"
	NeverList   Get[api.NeverList]                    = "/v1/never/list"
)

// Learn records wanted mail of an archive. The change is in memory, and on disk within ten minutes.
const Learn Post[api.SenderRequest, api.Learned] = "/v1/learn"

// The sites of the federation. Mute and Drop are on disk when the answer arrives.
const (
	Sites Get[api.SiteList]                      = "/v1/sites"
	Mute  Post[api.SiteRequest, api.SiteReceipt] = "/v1/mute"
	Drop  Post[api.SiteRequest, api.SiteReceipt] = "/v1/drop"
)

// The daemon itself. Fsck takes as long as the disk.
const (
	Whoami Get[api.Whoami]  = "/v1/whoami"
	Status Get[api.Status]  = "/v1/status"
	Web    Get[api.WebLink] = "/v1/web"
	Fsck   Get[api.Checked] = "/v1/fsck"
)

// Backup is the path of an endpoint whose answer is a tar.
const Backup = "/v1/backup"
