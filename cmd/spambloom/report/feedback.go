package report

import (
	"errors"
	"fmt"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// errNoSpam is wrapped if a feedback report declares that a message is not spam.
var errNoSpam = errors.New("the feedback report declares the message not spam")

// classOfFeedback returns the class for a type of feedback, or an error if it is not a
// complaint about spam. Of the registered types (RFC 5965 section 7.3, RFC 6430, RFC
// 6591) auth-failure, for example, is not about a message's content.
func classOfFeedback(feedback string) (bloomdb.Class, error) {
	switch feedback {
	case "abuse", "other":
		return bloomdb.ClassOther, nil
	case "fraud":
		return bloomdb.ClassPhish, nil
	case "virus":
		return bloomdb.ClassMalware, nil
	case "not-spam":
		return bloomdb.ClassOther, batch.NewRefusal("", errNoSpam, "use spambloom revoke --attached")
	}
	return bloomdb.ClassOther, &batch.Refusal{
		Err:    &verb.Fault{Code: verb.Data, Err: fmt.Errorf("the feedback report has the type %.40q, which is not about spam", feedback)},
		Reason: "a feedback report that is not about spam",
	}
}
