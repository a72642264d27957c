-- A mail that is taken back, at any stage, leaves nothing to the next one: neither
-- forged fields, nor recipients that count, nor a body.
dofile("testdata/miltertest/lib/mail.lua")

conn = open()
done(mt.conninfo(conn, "client.example.net", "192.0.2.8"))
done(mt.helo(conn, "client.example.net"))

done(mt.mailfrom(conn, "<someone@example.net>"))
done(mt.abort(conn))

done(mt.mailfrom(conn, "<someone@example.net>"))
for i = 1, 100 do done(mt.rcptto(conn, "<you@example.test>")) end
done(mt.abort(conn))

envelope(conn)
done(mt.header(conn, "X-Spam-Flag", "YES"))
done(mt.abort(conn))

envelope(conn)
fields, body = read("phish")
header(conn, fields)
done(mt.bodystring(conn, body))
done(mt.abort(conn))

-- log: verdict=clean client=192.0.2.8 count=1
check(send(conn, "once") == SMFIR_CONTINUE, "a clean mail")
tagged(conn, "clean")
check(not mt.eom_check(conn, MT_HDRCHANGE, "X-Spam-Flag"), "a forged field of a mail before")
check(not mt.eom_check(conn, MT_HDRDELETE, "X-Spam-Flag"), "a forged field of a mail before")
done(mt.disconnect(conn))
