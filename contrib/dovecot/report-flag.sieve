# The keywords of a mail were changed by IMAP. $Junk, or Junk, set: its user says
# that it is spam. Taken off: that it is none. $NotJunk and NonJunk alone say
# nothing: mail programs set them by themselves on whatever they take for good.
# Compile it as root: sievec /etc/dovecot/sieve/report-flag.sieve
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
