# A mail was moved or copied into Junk by IMAP: its user says that it is spam.
# Compile it as root: sievec /etc/dovecot/sieve/report-spam.sieve
require ["copy", "environment", "variables", "vnd.dovecot.environment", "vnd.dovecot.imapsieve", "vnd.dovecot.pipe"];

# A copy from Junk to Junk says nothing.
if allof (environment :is "imap.cause" "COPY",
          environment :is "vnd.dovecot.mailbox-from" "${env.imap.mailbox}") {
	stop;
}

# Without :copy the mail would be marked as deleted.
pipe :copy "spambloom-imap" ["report", "${env.imap.user}"];
