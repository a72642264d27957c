-- Macros come in pieces: the queue id with MAIL, as Sendmail has it, or later, as
-- Postfix. They belong to one mail, those of the connection to all.
dofile("testdata/miltertest/lib/mail.lua")

conn = open()
done(mt.macro(conn, SMFIC_CONNECT, "j", "mx.example.test", "{daemon_name}", "MTA"))
done(mt.conninfo(conn, "client.example.net", "192.0.2.7"))
done(mt.macro(conn, SMFIC_HELO, "{tls_version}", "TLSv1.3"))
done(mt.helo(conn, "client.example.net"))

-- log: verdict=spam queue_id=FIRST
done(mt.macro(conn, SMFIC_MAIL, "i", "FIRST", "{mail_addr}", "someone@example.net"))
done(mt.mailfrom(conn, "<someone@example.net>"))
done(mt.macro(conn, SMFIC_RCPT, "{rcpt_addr}", "you@example.test"))
done(mt.rcptto(conn, "<you@example.test>"))
check(content(conn, "other") == SMFIR_CONTINUE, "the queue id with MAIL")

-- log: verdict=spam queue_id=SECOND
done(mt.mailfrom(conn, "<someone@example.net>"))
done(mt.macro(conn, SMFIC_RCPT, "{rcpt_addr}", "you@example.test", "i", "SECOND"))
done(mt.rcptto(conn, "<you@example.test>"))
check(content(conn, "other") == SMFIR_CONTINUE, "the queue id with RCPT")

-- log: verdict=skipped reason=authenticated action=accept queue_id=THIRD
done(mt.macro(conn, SMFIC_MAIL, "i", "THIRD", "{auth_type}", "PLAIN", "{auth_authen}", "anna"))
done(mt.mailfrom(conn, "<anna@example.test>"))
done(mt.rcptto(conn, "<you@example.test>"))
check(content(conn, "other") == SMFIR_CONTINUE, "a user who logged in")
untouched(conn)

-- log: verdict=spam reason= queue_id=
check(send(conn, "other") == SMFIR_CONTINUE, "macros of the mail before")
tagged(conn, "spam")
done(mt.disconnect(conn))
