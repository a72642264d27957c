-- Servers of all times: version 2 with no step but those of then, and without skip;
-- version 6 with all steps, of which the milter spares the server most answers; and
-- a version that is not there yet. A server that does not let a milter change a
-- header is of no use, nor is version 1.
dofile("testdata/miltertest/lib/mail.lua")

changes = SMFIF_ADDHDRS + SMFIF_CHGHDRS + SMFIF_QUARANTINE

-- log: verdict=spam action=tag
-- log: verdict=spam action=tag
-- log: verdict=spam action=tag
-- log: verdict=spam action=tag
for _, o in ipairs({{2, 0x3f, 0x7f}, {2, changes, 0}, {6, 0x1ff, 0x1fffff}, {7, 0x3ff, 0x1fffff}}) do
	conn = open(o[1], o[2], o[3])
	check(mt.test_action(conn, SMFIF_CHGHDRS), "the milter changes no headers")
	check(not mt.test_option(conn, SMFIP_NOBODY), "the milter wants no body")
	check(mt.test_option(conn, SMFIP_NR_HDR) == (o[3] > 0x7f), "answers to headers, version " .. o[1])
	done(mt.conninfo(conn, "client.example.net", "192.0.2.7"))
	done(mt.helo(conn, "client.example.net"))
	check(send(conn, "other") == SMFIR_CONTINUE, "version " .. o[1])
	tagged(conn, "spam")
	done(mt.disconnect(conn))
end

for _, o in ipairs({{1, changes, 0x7f}, {6, SMFIF_ADDHDRS, 0x7f}}) do
	conn = mt.connect(socket)
	check(offer(conn, o[1], o[2], o[3]) ~= nil, "taken: version " .. o[1] .. " with actions " .. o[2])
	mt.disconnect(conn, false)
end
