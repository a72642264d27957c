-- A command that SMTP does not know is the server's affair.
dofile("testdata/miltertest/lib/mail.lua")

conn = open(6, 0x1ff, 0x7f)
done(mt.conninfo(conn, "client.example.net", "192.0.2.7"))
done(mt.helo(conn, "client.example.net"))
done(mt.unknown(conn, "FROBNICATE now"))
check(mt.getreply(conn) == SMFIR_CONTINUE, "an unknown command before MAIL")

-- log: verdict=spam action=tag
envelope(conn)
done(mt.unknown(conn, "FROBNICATE again"))
check(mt.getreply(conn) == SMFIR_CONTINUE, "an unknown command within a mail")
check(content(conn, "other") == SMFIR_CONTINUE, "a mail with an unknown command in it")
tagged(conn, "spam")
done(mt.disconnect(conn))
