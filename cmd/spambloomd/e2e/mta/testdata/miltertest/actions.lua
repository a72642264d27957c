-- Each action with its reply or reason, on one connection. After each of them the next mail is judged.
dofile("testdata/miltertest/lib/mail.lua")

conn = open()
done(mt.conninfo(conn, "client.example.net", "192.0.2.7"))
done(mt.helo(conn, "client.example.net"))

-- log: verdict=clean action=tag client=192.0.2.7 message_id=<clean@example.net>
check(send(conn, "clean") == SMFIR_CONTINUE, "a clean mail")
tagged(conn, "clean")

-- log: verdict=spam class=phish action=reject client=192.0.2.7
check(send(conn, "phish") == SMFIR_REPLYCODE, "reject")
check(mt.eom_check(conn, MT_SMTPREPLY, "550", "5.7.1", "Message refused: spam " .. phish), "another reply than 550 5.7.1")

-- log: verdict=spam class=scam action=tempfail client=192.0.2.7
check(send(conn, "scam") == SMFIR_REPLYCODE, "tempfail")
check(mt.eom_check(conn, MT_SMTPREPLY, "451", "4.7.1", "Try again later: spam " .. scam), "another reply than 451 4.7.1")

-- log: verdict=spam class=malware action=quarantine client=192.0.2.7
check(send(conn, "malware") == SMFIR_CONTINUE, "quarantine")
check(mt.eom_check(conn, MT_QUARANTINE, "spam " .. malware), "no quarantine, or another reason")
tagged(conn, "spam")

-- log: verdict=spam class=bulk action=discard client=192.0.2.7
check(send(conn, "bulk") == SMFIR_DISCARD, "discard")

-- log: verdict=spam class= action=tag client=192.0.2.7
check(send(conn, "other") == SMFIR_CONTINUE, "tag")
tagged(conn, "spam")

-- log: verdict=clean action=tag client=192.0.2.7
check(send(conn, "clean") == SMFIR_CONTINUE, "a clean mail again")
tagged(conn, "clean")
check(not mt.eom_check(conn, MT_QUARANTINE), "the quarantine of a mail before")
done(mt.disconnect(conn))
