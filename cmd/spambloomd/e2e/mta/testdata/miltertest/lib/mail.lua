-- What the scripts share. Every function ends the script where something is not as
-- it should be.

folder = "testdata/miltertest/"

-- fail says why before it ends the script: miltertest keeps errors to itself.
function fail(why)
	io.stderr:write(debug.traceback(why, 3), "\n")
	error(why)
end

-- done takes the result of a function of miltertest, nil where all went well.
function done(problem)
	if problem ~= nil then fail(problem) end
end

function check(right, what)
	if not right then fail(what) end
end

-- offer negotiates; the manual of miltertest has the last two the other way round.
function offer(conn, version, actions, steps)
	return mt.negotiate(conn, version, steps, actions)
end

function open(version, actions, steps)
	local conn = mt.connect(socket)
	check(conn ~= nil, "no connection")
	done(offer(conn, version, actions, steps))
	return conn
end

-- read splits a mail into the fields of its header and its body.
function read(name)
	local fields, body, inHeader = {}, "", true
	for line in io.lines(folder .. name .. ".eml") do
		if not inHeader then
			body = body .. line .. "\r\n"
		elseif line == "" then
			inHeader = false
		else
			local field, value = string.match(line, "^([^:]*): *(.*)$")
			table.insert(fields, {field, value})
		end
	end
	return fields, body
end

function envelope(conn)
	done(mt.mailfrom(conn, "<someone@example.net>"))
	done(mt.rcptto(conn, "<you@example.test>"))
end

function header(conn, fields)
	for _, field in ipairs(fields) do done(mt.header(conn, field[1], field[2])) end
	done(mt.eoh(conn))
end

-- content sends header and body, and says what the answer is.
function content(conn, name)
	local fields, body = read(name)
	header(conn, fields)
	done(mt.bodystring(conn, body))
	done(mt.eom(conn))
	return mt.getreply(conn)
end

function send(conn, name)
	envelope(conn)
	return content(conn, name)
end

-- tagged checks the header of a mail that is to be delivered.
function tagged(conn, verdict)
	local value = mt.getheader(conn, "X-Spambloom", 0)
	check(value ~= nil and string.sub(value, 1, #verdict + 1) == verdict .. ";", "X-Spambloom: " .. tostring(value))
	check(mt.eom_check(conn, MT_HDRINSERT, "X-Spambloom", value, 0), "X-Spambloom is not the first field")
	check(mt.eom_check(conn, MT_HDRINSERT, "X-Spam-Flag") == (verdict == "spam"), "X-Spam-Flag")
end

-- untouched checks that a mail is not to be changed.
function untouched(conn)
	for _, change in ipairs({MT_HDRADD, MT_HDRCHANGE, MT_HDRDELETE, MT_HDRINSERT, MT_BODYCHANGE, MT_QUARANTINE}) do
		check(not mt.eom_check(conn, change), "change " .. change)
	end
end
