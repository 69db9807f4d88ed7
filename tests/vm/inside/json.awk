# SPDX-License-Identifier: MIT
# Flattens JSON to one "PATH=VALUE" line for each value that is not an object or a list,
# as ".tasks[0].pid=71". Strings lose their quotes and keep their escapes. A text that is
# not JSON ends with status 1.

{ text = text $0 "\n" }

function blank()
{
	while (at <= end && index(" \t\r\n", substr(text, at, 1)) > 0)
		at++
}

function fail(what)
{
	print "json: " what " at byte " at > "/dev/stderr"
	failed = 1
	at = end + 1
	exit 1
}

# From the opening quote to behind the closing one; returns what is between.
function string(    from, c)
{
	from = ++at
	while (at <= end) {
		c = substr(text, at, 1)
		if (c == "\\")
			at++
		else if (c == "\"") {
			at++
			return substr(text, from, at - from - 1)
		}
		at++
	}
	fail("a string without end")
}

function value(path,    c, name, n, from)
{
	blank()
	c = substr(text, at, 1)
	if (c == "{") {
		at++
		blank()
		if (substr(text, at, 1) == "}") {
			at++
			return
		}
		for (;;) {
			blank()
			if (substr(text, at, 1) != "\"")
				fail("no name")
			name = string()
			blank()
			if (substr(text, at++, 1) != ":")
				fail("no colon")
			value(path "." name)
			blank()
			c = substr(text, at++, 1)
			if (c == "}")
				return
			if (c != ",")
				fail("no comma in an object")
		}
	} else if (c == "[") {
		at++
		blank()
		if (substr(text, at, 1) == "]") {
			at++
			return
		}
		for (n = 0;; n++) {
			value(path "[" n "]")
			blank()
			c = substr(text, at++, 1)
			if (c == "]")
				return
			if (c != ",")
				fail("no comma in a list")
		}
	} else if (c == "\"") {
		print path "=" string()
	} else {
		from = at
		while (at <= end && index("+-.0123456789abcdefghijklmnopqrstuvwxyzE", substr(text, at, 1)) > 0)
			at++
		name = substr(text, from, at - from)
		if (name !~ /^(true|false|null|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?)$/)
			fail("no value")
		print path "=" name
	}
}

END {
	if (failed)
		exit 1
	end = length(text)
	at = 1
	value("")
	blank()
	if (at <= end)
		fail("more text behind the value")
}
