# A mail was moved or copied out of Junk by IMAP: its user says that it is no spam.
# Compile it as root: sievec /etc/dovecot/sieve/report-ham.sieve
require ["copy", "environment", "special-use", "variables", "vnd.dovecot.environment", "vnd.dovecot.imapsieve",
	"vnd.dovecot.pipe"];

# Who throws spam away does not take its report back, nor who moves it from one
# folder for spam to another.
if anyof (environment :is "vnd.dovecot.mailbox-from" "${env.imap.mailbox}",
          specialuse_exists "${env.imap.mailbox}" "\\Trash",
          specialuse_exists "${env.imap.mailbox}" "\\Junk",
          string :contains "|${env.vnd.dovecot.config.spambloom_trash}|" "|${env.imap.mailbox}|") {
	stop;
}

pipe :copy "spambloom-imap" ["revoke", "${env.imap.user}"];
