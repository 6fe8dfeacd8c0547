import LuaHost
import Reference

/// Help on Lua's own library, which the catalog of the Lua API does not contain.
enum LuaLibrary {
    struct Entry {
        /// The full name, such as `string.format`.
        let name: String
        /// The name with parameters and results.
        let signature: String
        let summary: String

        /// Parses a line with a signature, a bar and a summary.
        fileprivate init(_ line: Substring) {
            let parts = line.split(separator: " | ", maxSplits: 1)
            signature = String(parts[0])
            name = String(signature.prefix { $0 != "(" && $0 != " " })
            summary = String(parts[1])
        }

        /// `string` for `string.format`; `basic` for a global function.
        var library: String {
            let parts = name.split { $0 == "." || $0 == ":" }
            return parts.count > 1 ? String(parts[0]) : "basic"
        }
    }

    static let entries = text.split(separator: "\n").map(Entry.init)

    /// The libraries in the order of the manual.
    static let libraries: [String] = entries.map(\.library).reduce(into: []) { names, name in
        if names.last != name { names.append(name) }
    }

    /// All names that have help, for completion.
    static var names: [String] { libraries + entries.map(\.name) }

    /// Returns the entries that a name refers to: a library, `string.format`, or only `format`.
    static func find(_ text: String) -> [Entry] {
        let library = entries.filter { $0.library == text }
        return library.isEmpty
            ? entries.filter {
                $0.name == text || $0.name.hasSuffix("." + text) || $0.name.hasSuffix(":" + text)
            } : library
    }

    /// Returns the name of a function or table of the library; nil for other values.
    static func name(of value: LuaValue, in globals: LuaTable) -> String? {
        for name in names where !name.contains(":") {
            let found = name.split(separator: ".").reduce(LuaValue.table(globals)) { table, part in
                table.table?[String(part)] ?? .nil
            }
            if found == value { return name }
        }
        return nil
    }

    private static let text = """
        assert(v [, message]) → v, message | Returns its arguments if v is true; otherwise raises the message as an error.
        collectgarbage([option [, argument]]) → number | Controls the garbage collector: "collect" runs it, "count" returns the memory in KiB, "stop", "restart", "step", "isrunning", "incremental" and "generational" set its mode.
        dofile([file]) → any | Runs a file and returns its results; without a name, runs standard input.
        error(message [, level]) | Raises an error. Level 1 adds the position of the call of error, 2 the position of the call of its function, 0 none.
        getmetatable(value) → table? | Returns the metatable of a value, or the field __metatable of the metatable.
        ipairs(t) → function, table, 0 | Iterates over t[1], t[2], … up to the first nil, in a for loop.
        load(chunk [, name [, mode [, env]]]) → function | Compiles text, or the pieces that a function returns. Returns nil and a message for invalid code.
        loadfile([file [, mode [, env]]]) → function | Compiles a file without running it.
        next(t [, key]) → key, value | Returns the item after a key, in no particular order; the first item without a key, nil after the last.
        pairs(t) → function, table, nil | Iterates over all items of a table in a for loop, or calls its metamethod __pairs.
        pcall(f, ...) → boolean, ... | Calls a function. Returns true and its results, or false and the error.
        print(...) | Writes its arguments to standard output as text, separated by tabs.
        rawequal(a, b) → boolean | Compares two values without metamethods.
        rawget(t, key) → any | Reads a field without metamethods.
        rawlen(v) → integer | Returns the length of a table or string without metamethods.
        rawset(t, key, value) → table | Assigns a field without metamethods.
        require(name) → any, any | Loads a module once and returns its value; later calls return the same value. It searches package.path and package.cpath.
        select(n, ...) → ... | Returns the arguments from number n on, from the end for a negative n; select("#", ...) returns their number.
        setmetatable(t, metatable) → table | Sets the metatable of a table, or removes it with nil.
        tonumber(v [, base]) → number? | Converts text to a number, in a base from 2 to 36 if given. Returns nil if the text is not a number.
        tostring(v) → string | Converts a value to text, with its metamethod __tostring or __name.
        type(v) → string | Returns the type: "nil", "number", "string", "boolean", "table", "function", "thread" or "userdata".
        warn(message, ...) | Shows a warning; the messages "@on" and "@off" switch warnings.
        xpcall(f, handler, ...) → boolean, ... | Calls a function like pcall. The handler receives an error before the stack unwinds and can add a traceback.
        _G | The table of the global variables.
        _VERSION | The version of the language, "Lua 5.4".
        coroutine.close(co) → boolean, any | Ends a suspended coroutine and closes its variables.
        coroutine.create(f) → thread | Creates a coroutine that runs a function.
        coroutine.isyieldable([co]) → boolean | Returns whether a coroutine can yield.
        coroutine.resume(co, ...) → boolean, ... | Continues a coroutine. Returns true and the values of yield, or false and the error.
        coroutine.running() → thread, boolean | Returns the running coroutine and whether it is the main one.
        coroutine.status(co) → string | Returns "running", "suspended", "normal" or "dead".
        coroutine.wrap(f) → function | Creates a coroutine as a function: each call resumes it and raises its errors.
        coroutine.yield(...) → ... | Suspends the coroutine; resume returns the arguments, and yield returns the arguments of the next resume.
        package.config | Five lines with the separators and marks of search paths.
        package.cpath | The search path of require for C modules.
        package.loaded | The table of loaded modules by name.
        package.loadlib(path, name) → function | Loads a C library and returns its function of this name.
        package.path | The search path of require for Lua modules; ? means the name.
        package.preload | Functions by module name that require calls instead of searching files.
        package.searchers | The functions that require uses to find a module.
        package.searchpath(name, path [, separator [, replacement]]) → string | Finds the file of a module in a search path. Returns nil and the tried names if there is none.
        string.byte(s [, i [, j]]) → integer, ... | Returns the bytes i to j as numbers; by default the first one.
        string.char(...) → string | Returns a string of bytes.
        string.dump(f [, strip]) → string | Returns the compiled code of a function, for load.
        string.find(s, pattern [, init [, plain]]) → start, end, ... | Finds a pattern, or plain text if plain is true. Returns its position and its captures, or nil.
        string.format(format, ...) → string | Formats values as in C: %d integer, %s text, %q Lua literal, %g and %.2f numbers, %x hexadecimal, %5d and %-5s widths.
        string.gmatch(s, pattern [, init]) → function | Iterates over the matches of a pattern, or over their captures.
        string.gsub(s, pattern, replacement [, n]) → string, count | Replaces the matches of a pattern by a text with %1 for captures, by a field of a table, or by the result of a function.
        string.len(s) → integer | Returns the number of bytes, like #s.
        string.lower(s) → string | Returns the text in lower case.
        string.match(s, pattern [, init]) → ... | Returns the captures of the first match, or the match; nil if there is none. Classes: %a letter, %d digit, %s space, %w letter or digit, . any; repetitions: * + - ?
        string.pack(format, ...) → string | Encodes values as binary data: <i4 a little-endian integer of 4 bytes, s1 a string with its length, d a double, z a string that ends with a zero.
        string.packsize(format) → integer | Returns the length of the result of pack for a format without strings of variable length.
        string.rep(s, n [, separator]) → string | Repeats a string.
        string.reverse(s) → string | Returns the bytes in reverse order.
        string.sub(s, i [, j]) → string | Returns the bytes i to j; negative positions count from the end.
        string.unpack(format, s [, position]) → ... | Decodes the values of pack, and returns the position after them.
        string.upper(s) → string | Returns the text in upper case.
        utf8.char(...) → string | Returns the UTF-8 text of code points.
        utf8.charpattern | A pattern that matches one UTF-8 character.
        utf8.codepoint(s [, i [, j [, lax]]]) → integer, ... | Returns the code points of the characters that begin between two bytes.
        utf8.codes(s [, lax]) → function | Iterates over the byte positions and code points of a text.
        utf8.len(s [, i [, j [, lax]]]) → integer | Returns the number of characters, or nil and the position of the first invalid byte.
        utf8.offset(s, n [, i]) → integer | Returns the byte position of character n.
        table.concat(t [, separator [, i [, j]]]) → string | Joins the strings and numbers of a list.
        table.insert(t, [position,] value) | Inserts a value at a position, by default at the end.
        table.move(t, first, last, to [, target]) → table | Copies items to other positions, also of another table.
        table.pack(...) → table | Returns a table of the arguments, with their number in the field n.
        table.remove(t [, position]) → any | Removes and returns an item, by default the last one.
        table.sort(t [, less]) | Sorts a list in place. less(a, b) returns whether a comes before b; equal items can change their order.
        table.unpack(t [, i [, j]]) → ... | Returns the items of a list as several values.
        math.abs(x) → number | Returns the absolute value.
        math.acos(x) → number | Returns the arc cosine in radians.
        math.asin(x) → number | Returns the arc sine in radians.
        math.atan(y [, x]) → number | Returns the arc tangent of y / x in radians, in the quadrant of both signs.
        math.ceil(x) → integer | Rounds up.
        math.cos(x) → number | Returns the cosine of an angle in radians.
        math.deg(x) → number | Converts radians to degrees.
        math.exp(x) → number | Returns e raised to x.
        math.floor(x) → integer | Rounds down.
        math.fmod(x, y) → number | Returns the remainder of a division that rounds toward zero.
        math.huge | Infinity.
        math.log(x [, base]) → number | Returns the logarithm, by default the natural one.
        math.max(x, ...) → number | Returns the greatest argument.
        math.maxinteger | The greatest integer, 2^63 - 1.
        math.min(x, ...) → number | Returns the least argument.
        math.mininteger | The least integer, -2^63.
        math.modf(x) → number, number | Returns the integral and the fractional part.
        math.pi | The number π.
        math.rad(x) → number | Converts degrees to radians.
        math.random([m [, n]]) → number | Returns a random number from 0 to less than 1, an integer from 1 to m, or from m to n.
        math.randomseed([x [, y]]) → integer, integer | Sets the start of the random numbers; without arguments, a random one.
        math.sin(x) → number | Returns the sine of an angle in radians.
        math.sqrt(x) → number | Returns the square root.
        math.tan(x) → number | Returns the tangent of an angle in radians.
        math.tointeger(x) → integer? | Converts a number with an integral value to an integer; nil for other values.
        math.type(x) → string? | Returns "integer" or "float"; nil for a value that is not a number.
        math.ult(m, n) → boolean | Compares two integers as unsigned numbers.
        io.close([file]) | Closes a file, by default the output.
        io.flush() | Writes the buffered data of the default output.
        io.input([file]) → file | Opens the default input, or returns it.
        io.lines([file, ...]) → function | Iterates over the lines of a file, or over what the formats of read select, and closes the file at the end.
        io.open(file [, mode]) → file | Opens a file: "r" read, "w" overwrite, "a" append, "r+" update; b for binary. Returns nil and a message if it fails.
        io.output([file]) → file | Opens the default output, or returns it.
        io.popen(command [, mode]) → file | Runs a shell command and returns a file with its output, or with its input for mode "w".
        io.read(...) → ... | Reads from the default input, like file:read.
        io.stderr | Standard error as a file.
        io.stdin | Standard input as a file.
        io.stdout | Standard output as a file.
        io.tmpfile() → file | Opens a temporary file, which is removed at the end of the program.
        io.type(v) → string? | Returns "file" or "closed file"; nil for a value that is not a file.
        io.write(...) → file | Writes strings and numbers to the default output.
        file:close() → boolean | Closes the file; for a command of io.popen, returns its exit status.
        file:flush() | Writes buffered data.
        file:lines(...) → function | Iterates over the lines, or over what the formats of read select.
        file:read(...) → ... | Reads by formats: "l" a line, "L" a line with its end, "n" a number, "a" all, a number of bytes. Returns nil at the end.
        file:seek([from [, offset]]) → integer | Moves to a position from "set", "cur" or "end", and returns it.
        file:setvbuf(mode [, size]) | Sets the buffering: "no", "full" or "line".
        file:write(...) → file | Writes strings and numbers.
        os.clock() → number | Returns the processor time of the program in seconds.
        os.date([format [, time]]) → string or table | Formats a time as strftime does; "*t" returns a table, and ! uses UTC.
        os.difftime(t2, t1) → number | Returns the seconds between two times.
        os.execute([command]) → boolean?, string, integer | Runs a shell command and returns its status.
        os.exit([code [, close]]) | Ends the program with a status: true, false or a number.
        os.getenv(name) → string? | Returns a variable of the environment.
        os.remove(file) → boolean | Deletes a file or an empty folder. Returns nil and a message if it fails.
        os.rename(old, new) → boolean | Renames a file.
        os.setlocale([locale [, category]]) → string? | Sets or returns the locale of the program.
        os.time([table]) → integer | Returns the current time in seconds, or the time of a table with year, month and day.
        os.tmpname() → string | Returns a name for a temporary file.
        debug.debug() | Reads and runs lines from standard input until cont.
        debug.gethook([thread]) → function, string, integer | Returns the hook.
        debug.getinfo([thread,] f [, what]) → table | Describes a function or a level of the stack: name, source, line.
        debug.getlocal([thread,] f, n) → name, value | Returns a local variable of a level of the stack.
        debug.getmetatable(v) → table? | Returns the metatable of any value.
        debug.getregistry() → table | Returns the table that C code keeps its values in.
        debug.getupvalue(f, n) → name, value | Returns a variable that a function has captured.
        debug.getuservalue(u [, n]) → any, boolean | Returns a value that belongs to a userdata.
        debug.sethook([thread,] hook, mask [, count]) | Calls a function at calls "c", returns "r", lines "l", or every count instructions.
        debug.setlocal([thread,] level, n, value) → name | Assigns a local variable of a level of the stack.
        debug.setmetatable(v, metatable) → v | Sets the metatable of any value.
        debug.setupvalue(f, n, value) → name | Assigns a variable that a function has captured.
        debug.setuservalue(u, value [, n]) → u | Sets a value that belongs to a userdata.
        debug.traceback([thread,] [message [, level]]) → string | Returns the calls of the stack as text.
        debug.upvalueid(f, n) → userdata | Returns an identifier of a captured variable.
        debug.upvaluejoin(f, n, g, m) | Makes a function share a captured variable of another one.
        """
}

extension Session {
    /// Returns help on a function or a library of Lua; nil if the name is unknown.
    func libraryPage(on name: String) -> String? {
        let found = LuaLibrary.find(name)
        guard let first = found.first else { return nil }
        let lines =
            first.library == name
            ? wrap.definitions(found.map { ($0.signature, $0.summary) }) { style.paint($0, .type) }
            : found.flatMap { entry in
                wrap.lines(entry.signature, hanging: "    ").map { style.paint($0, .type) }
                    + wrap.lines(entry.summary, indent: "    ")
            }
        return lines.map { $0 + "\n" }.joined()
    }
}
