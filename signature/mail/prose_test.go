package mail

import "github.com/spambloom/spambloom/signature/mail/mailtest"

// prose is enough text to be signed.
const prose = mailtest.Prose
