-- Servers that go away, with and without a word, at any stage. Those that come
-- after them are served.
dofile("testdata/miltertest/lib/mail.lua")

stages = {
	function(conn) done(mt.conninfo(conn, "client.example.net", "192.0.2.7")) end,
	function(conn) done(mt.helo(conn, "client.example.net")) end,
	function(conn) done(mt.mailfrom(conn, "<someone@example.net>")) end,
	function(conn) done(mt.rcptto(conn, "<you@example.test>")) end,
	function(conn) done(mt.header(conn, "Subject", "a letter")) end,
	function(conn) done(mt.eoh(conn)) end,
	function(conn) done(mt.bodystring(conn, "half a")) end,
}
for last = 0, #stages do
	for _, polite in ipairs({true, false}) do
		conn = open()
		for i = 1, last do stages[i](conn) end
		mt.disconnect(conn, polite)
	end
end

-- log: verdict=spam action=tag client=192.0.2.7
conn = open()
done(mt.conninfo(conn, "client.example.net", "192.0.2.7"))
done(mt.helo(conn, "client.example.net"))
check(send(conn, "other") == SMFIR_CONTINUE, "a mail")
tagged(conn, "spam")
done(mt.disconnect(conn))
