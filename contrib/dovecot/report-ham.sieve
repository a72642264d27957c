# A user moved or copied a mail out of Junk by IMAP: it is not spam.
# Compile this file as root: sievec /etc/dovecot/sieve/report-ham.sieve
require ["copy", "environment", "special-use", "variables", "vnd.dovecot.environment", "vnd.dovecot.imapsieve",
	"vnd.dovecot.pipe"];

# A folder below the trash or a spam folder, such as Junk/2026, counts like that one.
set "parent" "${env.imap.mailbox}";
if string :matches "${parent}" "INBOX/*/*" {
	set "parent" "INBOX/${1}";
} elsif string :matches "${parent}" "INBOX.*.*" {
	set "parent" "INBOX.${1}";
} elsif string :matches "${parent}" ["*/*", "*.*"] {
	set "parent" "${1}";
}

# Throwing spam away does not revoke its report, and neither does moving it from one
# spam folder to another.
if anyof (environment :is "vnd.dovecot.mailbox-from" ["${env.imap.mailbox}", "${parent}"],
          specialuse_exists "${env.imap.mailbox}" "\\Trash",
          specialuse_exists "${env.imap.mailbox}" "\\Junk",
          specialuse_exists "${parent}" "\\Trash",
          specialuse_exists "${parent}" "\\Junk",
          string :contains "|${env.vnd.dovecot.config.spambloom_trash}|" ["|${env.imap.mailbox}|", "|${parent}|"]) {
	stop;
}

pipe :copy "spambloom-imap" ["revoke", "${env.imap.user}"];
