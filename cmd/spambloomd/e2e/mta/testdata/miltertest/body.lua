-- A body in many chunks is one body. Of a large one, the milter says when it has
-- enough if the server waits for answers; one that does not know skip goes on.
dofile("testdata/miltertest/lib/mail.lua")

conn = open()
done(mt.conninfo(conn, "client.example.net", "192.0.2.7"))
done(mt.helo(conn, "client.example.net"))

-- log: verdict=spam action=tag
envelope(conn)
fields, body = read("other")
header(conn, fields)
for i = 1, #body do done(mt.bodystring(conn, string.sub(body, i, i))) end
done(mt.eom(conn))
check(mt.getreply(conn) == SMFIR_CONTINUE, "a body of single bytes")
tagged(conn, "spam")

-- log: verdict=skipped reason=oversize
-- log: verdict=spam action=tag
check(mt.test_option(conn, SMFIP_NR_BODY), "answers to chunks")
envelope(conn)
done(mt.header(conn, "Subject", "large"))
done(mt.eoh(conn))
for i = 1, 100 do done(mt.bodystring(conn, string.rep("0123456789abcdef", 256))) end
done(mt.eom(conn))
check(mt.getreply(conn) == SMFIR_CONTINUE, "a mail whose end is dropped")
check(send(conn, "other") == SMFIR_CONTINUE, "the mail after it")
tagged(conn, "spam")
done(mt.disconnect(conn))

-- log: verdict=skipped reason=oversize
conn = open(6, 0x1ff, 0x17ffff) -- without SMFIP_NR_BODY
check(not mt.test_option(conn, SMFIP_NR_BODY), "what was not offered")
done(mt.conninfo(conn, "client.example.net", "192.0.2.7"))
done(mt.helo(conn, "client.example.net"))
envelope(conn)
done(mt.header(conn, "Subject", "large"))
done(mt.eoh(conn))
skipped = false
for i = 1, 100 do
	if not skipped then
		done(mt.bodystring(conn, string.rep("0123456789abcdef", 256)))
		skipped = mt.getreply(conn) == SMFIR_SKIP
	end
end
check(skipped, "nothing is skipped of 400 KiB where 64 KiB are kept")
done(mt.eom(conn))
check(mt.getreply(conn) == SMFIR_CONTINUE, "a mail after skip")
done(mt.disconnect(conn))

-- log: verdict=skipped reason=oversize
-- log: verdict=spam action=tag
conn = open(2, 0x3f, 0x7f)
done(mt.conninfo(conn, "client.example.net", "192.0.2.7"))
done(mt.helo(conn, "client.example.net"))
envelope(conn)
done(mt.header(conn, "Subject", "large"))
done(mt.eoh(conn))
for i = 1, 100 do
	done(mt.bodystring(conn, string.rep("0123456789abcdef", 256)))
	check(mt.getreply(conn) == SMFIR_CONTINUE, "skip, which is not known")
end
done(mt.eom(conn))
check(send(conn, "other") == SMFIR_CONTINUE, "the next mail")
tagged(conn, "spam")
done(mt.disconnect(conn))
