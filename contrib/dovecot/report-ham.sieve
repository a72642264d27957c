# A user moved or copied a mail out of Junk by IMAP: it is not spam.
# Compile this file as root: sievec /etc/dovecot/sieve/report-ham.sieve
require ["copy", "environment", "special-use", "variables", "vnd.dovecot.environment", "vnd.dovecot.imapsieve",
	"vnd.dovecot.pipe"];

# Throwing spam away does not revoke its report, and neither does moving it from one
# spam folder to another.
if anyof (environment :is "vnd.dovecot.mailbox-from" "${env.imap.mailbox}",
          specialuse_exists "${env.imap.mailbox}" "\\Trash",
          specialuse_exists "${env.imap.mailbox}" "\\Junk",
          string :contains "|${env.vnd.dovecot.config.spambloom_trash}|" "|${env.imap.mailbox}|") {
	stop;
}

pipe :copy "spambloom-imap" ["revoke", "${env.imap.user}"];
