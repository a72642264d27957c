package api

import (
	"fmt"
	"net/http"
)

// Problem is an error of the control API in the form of RFC 9457. Its type is always
// about:blank. The status is the sort of error, the detail a sentence for a person.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// NewProblem returns a problem with a formatted detail.
func NewProblem(status int, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }
