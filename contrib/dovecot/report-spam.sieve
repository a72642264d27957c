# A user moved or copied a mail into Junk by IMAP: it is spam.
# Compile this file as root: sievec /etc/dovecot/sieve/report-spam.sieve
require ["copy", "environment", "variables", "vnd.dovecot.environment", "vnd.dovecot.imapsieve", "vnd.dovecot.pipe"];

# A copy from Junk to Junk is not a report.
if allof (environment :is "imap.cause" "COPY",
          environment :is "vnd.dovecot.mailbox-from" "${env.imap.mailbox}") {
	stop;
}

# Without :copy Dovecot would mark the mail as deleted.
pipe :copy "spambloom-imap" ["report", "${env.imap.user}"];
