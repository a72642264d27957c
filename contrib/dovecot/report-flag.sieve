# IMAP changed the keywords of a mail. If the user set $Junk or Junk, the mail is
# reported; if the user removed it, the report is revoked. $NotJunk and NonJunk alone
# have no effect: mail programs set them automatically on mail that looks good.
# Compile this file as root: sievec /etc/dovecot/sieve/report-flag.sieve
require ["copy", "environment", "imap4flags", "variables", "vnd.dovecot.environment", "vnd.dovecot.imapsieve",
	"vnd.dovecot.pipe"];

if not string :contains " ${env.imap.changedflags} " [" $Junk ", " Junk "] {
	stop;
}

set "verb" "revoke";
if hasflag ["$Junk", "Junk"] {
	set "verb" "report";
}
pipe :copy "spambloom-imap" ["${verb}", "${env.imap.user}"];
