package main

import (
	"errors"
	"fmt"

	"github.com/spambloom/spambloom/bloomdb"
)

// errNoSpam is wrapped where a feedback report says that a message is no spam.
var errNoSpam = errors.New("a feedback report that says it is no spam")

// feedbackError is a feedback report that is none of spam.
type feedbackError struct{ error }

func (e *feedbackError) Unwrap() error { return e.error }

// classOfFeedback is the class for a type of feedback, and an error where it is no
// complaint about spam. Of the registered types (RFC 5965 section 7.3, RFC 6430, RFC
// 6591) auth-failure, for one, says nothing about what is in a message.
func classOfFeedback(feedback string) (bloomdb.Class, error) {
	switch feedback {
	case "abuse", "other":
		return bloomdb.ClassOther, nil
	case "fraud":
		return bloomdb.ClassPhish, nil
	case "virus":
		return bloomdb.ClassMalware, nil
	case "not-spam":
		return bloomdb.ClassOther, &feedbackError{errNoSpam}
	}
	return bloomdb.ClassOther, &feedbackError{fmt.Errorf("a feedback report of the type %.40q, which does not say that it is spam", feedback)}
}
