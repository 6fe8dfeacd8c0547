import Testing

/// Scripts that allocate as much memory as possible, in all possible ways, with `--memory 64M`.
///
/// Each script runs in its own process, which reports its peak without the pages of mapped files: those belong to the
/// system's cache. The peak must not exceed the peak of an empty script by more than the limit and a quarter.
@Suite struct MemoryAttackTests {
    private static let limit = 64

    struct Attack: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// Runs until it fails, or ends.
        let code: String
        /// The code of the error with which the attack ends.
        let result: String

        init(_ description: String, _ code: String, result: String = "limit_exceeded") {
            testDescription = description
            self.code = code
            self.result = result
        }
    }

    /// Reports the error of the attack and the peak of the process in kilobytes, and closes the script in order.
    private static let harness = """
        local attack = loadfile('attack.lua')
        local ok, e = pcall(attack)
        attack = nil
        collectgarbage()
        local function report()
            local status = {}
            for line in io.lines('/proc/self/status') do
                local name, size = line:match('^(%w+):%s*(%d+) kB')
                if name then status[name] = tonumber(size) end
            end
            local result = ok and 'finished' or type(e) == 'userdata' and e.code or e
            print(result .. '\\n' .. status.VmHWM - status.RssFile)
        end
        -- What the attack has queued still takes memory, until it has run.
        while not pcall(report) do pcall(moonpool.sleep, 0.05) end
        os.exit(0, true)
        """

    /// The outcome of an attack: the code of its error, and the peak of the process in MB.
    private struct Outcome {
        var result: String
        var peak: Int
    }

    private static func run(_ code: String) throws -> Outcome {
        let folder = try TemporaryFolder()
        _ = try folder.write(code, to: "attack.lua")
        let script = try folder.write(harness, to: "script.lua")
        let process = try Subprocess(Tool.path, ["--memory", "\(limit)M", script], in: folder.path)
        let outcome = try process.finish(within: 300).expectSuccess()
        let lines = outcome.lines
        guard lines.count == 2, let peak = Int(lines[1]) else {
            throw Subprocess.Late(description: "no report: \(outcome.output)\(outcome.error)")
        }
        return Outcome(result: lines[0], peak: peak >> 10)
    }

    private static let objects = """
        local store = moonpool.open { in_memory = 'x', schema = {
            Named = { id = 'int primary', name = 'string?' }, Number = { n = 'int' } } }

        """
    private static let collections = """
        local store = moonpool.open { in_memory = 'x', schema = {
            Holder = { id = 'int primary', list = 'string[]', set = 'string<>', map = 'string{}', any = 'mixed' } } }

        """
    private static let numbers =
        objects
        + "store:write(function() for i = 1, 50000 do store:create('Number', { n = i }) end end)\n"
    private static let named =
        objects + "local x = ('x'):rep(400) store:write(function() "
        + "for i = 1, 3000 do store:create('Named', { id = i, name = x .. i }) end end)\n"
    private static let keeping = "local kept = {} "
    /// Leaves half of the memory, for ways that allocate slowly.
    private static let half =
        "local kept, text = {}, ('x'):rep(1 << 20) for i = 1, 32 do kept[i] = text .. i end "
    private static func file(_ name: String, _ first: String, _ piece: String) -> String {
        "local f <close> = io.open('\(name)', 'w') f:write('\(first)') "
            + "for i = 1, 40 do f:write(('\(piece)'):rep(1 << 19)) end f:close() "
    }
    private static let indexes: String = {
        let names = (0..<15).flatMap { ["i\($0)", "s\($0)"] }
        let properties = names.map {
            $0.hasPrefix("i") ? "\($0) = 'int indexed'" : "\($0) = 'string indexed'"
        }
        return "store = moonpool.open { path = 'a.moonpool', schema = { A = { "
            + properties.joined(separator: ", ") + " } } } store:begin_write() "
            + "for n = 1, 6000 do local v, x = {}, math.random(1 << 60) for k = 0, 14 do "
            + "v['i' .. k] = x v['s' .. k] = 'text ' .. x end store:create('A', v) end store:commit_write()"
    }()

    static let attacks = [
        Attack("a table", "local t = {} while true do t[#t + 1] = #t end"),
        Attack(
            "strings of all sizes",
            keeping + "while true do kept[#kept + 1] = ('x'):rep(#kept % 5000) .. #kept end"),
        Attack("a string that doubles", "local s = 'x' while true do s = s .. s end"),
        Attack(
            "replaced text",
            "local s = ('ab'):rep(1000000) " + keeping
                + "while true do kept[#kept + 1] = s:gsub('a', 'aaaa') .. #kept end"),
        Attack(
            "coroutines",
            keeping
                + "while true do local c = coroutine.create(coroutine.yield) coroutine.resume(c) kept[#kept + 1] = c end"
        ),
        Attack(
            "objects of a store in memory",
            objects + "store:begin_write() local i, x = 0, ('x'):rep(1000) "
                + "while true do i = i + 1 store:create('Named', { id = i, name = x .. i }) end"),
        Attack(
            "large values of a store in memory",
            objects + "local x, i = ('x'):rep(1 << 16), 0 "
                + "while true do i = i + 1 store:write(function() store:create('Named', { id = i, name = x }) end) end"
        ),
        Attack(
            "lists of an open write",
            collections + "local x, t = ('x'):rep(1000), {} for i = 1, 5000 do t[i] = x end "
                + "store:begin_write() local n = 0 "
                + "while true do n = n + 1 store:create('Holder', { id = n, list = t }) end"),
        Attack(
            "sets of an open write",
            collections + "local t, x = {}, ('x'):rep(5000) for i = 1, 100 do t[i] = x .. i end "
                + "store:begin_write() local n = 0 "
                + "while true do n = n + 1 store:create('Holder', { id = n, set = t }) end"),
        Attack(
            "maps of an open write",
            collections
                + "local x, t = ('x'):rep(2000), {} for i = 1, 500 do t['key ' .. i] = x end "
                + "store:begin_write() local n = 0 "
                + "while true do n = n + 1 store:create('Holder', { id = n, map = t }) end"),
        Attack(
            "a long list",
            collections + "local t = {} for i = 1, 1000000 do t[i] = 'abc' end "
                + "store:write(function() store:create('Holder', { id = 1, list = t }) end)"),
        Attack(
            "a long list in a mixed value",
            collections + "local t = {} for i = 1, 1000000 do t[i] = i end "
                + "store:write(function() store:create('Holder', { id = 1, any = t }) end)"),
        Attack(
            "frozen versions",
            objects + keeping + "local x = ('x'):rep(1 << 16) while true do "
                + "store:write(function() store:create('Named', { id = 1, name = x .. #kept }, 'modified') end) "
                + "kept[#kept + 1] = store:freeze() end"),
        Attack("decoded JSON", "moonpool.json.decode('[' .. ('[],'):rep(5000000) .. '0]')"),
        Attack(
            "decoded JSON that is kept",
            "local text = '[' .. ('{\"a\":\"abcdefghij\"},'):rep(100000) .. '0]' " + keeping
                + "while true do kept[#kept + 1] = moonpool.json.decode(text) end"),
        Attack(
            "encoded JSON that is longer than its values",
            "local x, t = ('\\1'):rep(1000000), {} for i = 1, 60 do t[i] = x end moonpool.json.encode(t)"
        ),
        Attack(
            "encoded JSON that is kept",
            "local x, t = ('x'):rep(1000), {} for i = 1, 3000 do t[i] = x end " + keeping
                + "while true do kept[#kept + 1] = moonpool.json.encode(t) .. #kept end"),
        Attack(
            "printed tables",
            "local t = {} for i = 1, 5000 do t['key ' .. i] = 'abcdefgh' end " + keeping
                + "while true do kept[#kept + 1] = ('x'):rep(8 << 20) .. #kept "
                + "moonpool.inspect(t, { items = 1000000 }) end"
        ),
        Attack(
            "data",
            "local x = ('x'):rep(1 << 20) " + keeping
                + "while true do kept[#kept + 1] = moonpool.data(x) end"),
        Attack(
            "small values in Swift",
            keeping + "while true do kept[#kept + 1] = moonpool.decimal('1.5') end"),
        Attack(
            "observers",
            objects + keeping
                + "while true do kept[#kept + 1] = store:objects('Named'):observe(function() end) end"
        ),
        Attack(
            "rows of observers",
            numbers + keeping + "while true do kept[#kept + 1] = "
                + "store:objects('Number'):where('n > 5'):sorted('n'):observe(function() end) store:refresh() end"
        ),
        Attack("timers", "while true do moonpool.after(1000, function() end) end"),
        Attack(
            "rows of results",
            numbers + half + "while true do "
                + "local rows = store:objects('Number'):where('n > ' .. #kept):sorted('n') "
                + "local first = rows[1] kept[#kept + 1] = rows end"),
        Attack(
            "tables of results",
            named + keeping
                + "while true do kept[#kept + 1] = store:objects('Named'):to_table(2) end"),
        Attack(
            "tables of projections",
            named + keeping + "while true do kept[#kept + 1] = "
                + "store:objects('Named'):project { a = 'name', b = 'name' }:to_table() end"),
        Attack(
            "queries",
            objects + keeping + "while true do kept[#kept + 1] = "
                + "store:objects('Named'):where('name == $1', ('q'):rep(1000) .. #kept) end"),
        Attack(
            "sections",
            objects
                + "store:write(function() for i = 1, 500 do store:create('Named', { id = i, name = ('x'):rep(3000) .. i }) end end) "
                + keeping + "while true do "
                + "local groups = store:objects('Named'):where('id > -' .. #kept):group_by('name') "
                + "local count = #groups kept[#kept + 1] = groups end"),
        Attack(
            "observers of sections",
            objects + half + "text = text:sub(1, 30000) "
                + "store:write(function() for i = 1, 100 do store:create('Named', { id = i, name = i .. text }) end end) "
                + "while true do kept[#kept + 1] = "
                + "store:objects('Named'):group_by('name'):observe(function() end) store:refresh() end"
        ),
        Attack(
            "a long predicate",
            objects + "local t = {} for i = 1, 200000 do t[i] = 'n = ' .. i end "
                + "return #store:objects('Number'):where(table.concat(t, ' || '))"),
        Attack(
            "queued writes",
            objects + "local x, n = ('x'):rep(4000), 0 while true do n = n + 1 local text = x .. n "
                + "store:write_async(function() return text end) end"),
        Attack(
            "errors",
            keeping + "while true do local _, e = pcall(moonpool.open, {}) kept[#kept + 1] = e end"),
        Attack(
            "stores",
            keeping + "while true do kept[#kept + 1] = moonpool.open { in_memory = 'm' .. #kept, "
                + "schema = { Named = { id = 'int primary', name = 'string' } } } end"),
        Attack("a long text as a date", "moonpool.date(('1'):rep(25 << 20))"),
        Attack("a long text as a number", "moonpool.decimal(('1'):rep(25 << 20))"),
        Attack(
            "a long name of a class",
            objects + "store:objects(('x'):rep(25 << 20))"),
        Attack(
            "a long name of a property",
            objects
                + "store:write(function() local _ = store:create('Named', { id = 1 })[('x'):rep(25 << 20)] end)",
            result: "unknown_property"),
        Attack(
            "an error in a timer",
            "moonpool.after(0, function() error(('x'):rep(20 << 20)) end) moonpool.sleep(0.1)",
            result: "finished"),
        Attack(
            "a line of a CSV file",
            file("a.csv", "s\\n", "xx") + "for row in moonpool.csv.rows('a.csv') do end"),
        Attack(
            "fields of a CSV file",
            half + file("a.csv", "s", ",a") + "for row in moonpool.csv.rows('a.csv') do end"),
        Attack(
            "a string in a JSON file",
            file("a.jsonl", "\"", "xx") + "for row in moonpool.json.rows('a.jsonl') do end"),
        Attack(
            "a list in a JSON file",
            "local f <close> = io.open('a.jsonl', 'w') f:write('[' .. ('1,'):rep(4000000) .. '1]') f:close() "
                + "for row in moonpool.json.rows('a.jsonl') do end"),
        Attack("indexes of a long write", indexes, result: "finished"),
        Attack(
            "finalizers",
            "for i = 1, 50 do setmetatable({}, { __gc = function() local t = {} for i = 1, 1e7 do t[i] = i end end }) "
                + "moonpool.inspect(('x'):rep(100000)) end",
            result: "finished"),
        Attack(
            "a large table for a worker",
            "local w = moonpool.worker('w', function() moonpool.on_message(function() end) end) "
                + "local t = {} for i = 1, 1000000 do t[i] = i end w:post(t)"),
        Attack(
            "workers",
            keeping + "while true do kept[#kept + 1] = moonpool.worker('w' .. #kept, "
                + "function() moonpool.on_message(function() end) end) end"),
        Attack(
            "messages to a worker that does not read them",
            "local w = moonpool.worker('w', function() local t = os.clock() + 1 while os.clock() < t do end "
                + "moonpool.on_message(function() end) end) local text = ('x'):rep(10000) "
                + "local ok, e = pcall(function() while true do w:post(text) end end) "
                + "repeat until pcall(moonpool.sleep, 0.1) error(e)"),
        Attack(
            "an index of a large class in a file",
            "store = moonpool.open { path = 'a.moonpool', schema = { A = { s = 'string' } } } "
                + "local x = ('y'):rep(300) for k = 1, 8 do store:write(function() "
                + "for i = 1, 20000 do store:create('A', { s = i .. 'text' .. k .. x }) end end) end "
                + "store:define { A = { s = 'string indexed' } }"),
        Attack(
            "long values that are replaced in a write to a file",
            "store = moonpool.open { path = 'a.moonpool', schema = { A = { id = 'int primary', s = 'string' } } } "
                + "local x = ('x'):rep(1 << 20) store:begin_write() for round = 1, 4 do for i = 1, 40 do "
                + "store:create('A', { id = i, s = x .. i }, 'modified') end for i = 1, 40 do "
                + "store:create('A', { id = i, s = 'short' .. round }, 'modified') end end store:commit_write()",
            result: "finished"),
        Attack(
            "a class with many properties, and many classes",
            objects + "local s = {} for c = 1, 2000 do local t = {} "
                + "for k = 1, 50 do t['p' .. k] = 'string?' end s['C' .. c] = t end store:define(s)"
        ),
        Attack(
            "stores with many classes",
            "local s = {} for c = 1, 50 do local t = {} for k = 1, 50 do t['p' .. k] = 'string?' end s['C' .. c] = t end "
                + keeping
                + "while true do kept[#kept + 1] = moonpool.open { in_memory = 'm' .. #kept, schema = s } end"
        ),
        Attack(
            "observers of distinct strings",
            objects
                + "store:write(function() for i = 1, 2000 do store:create('Named', { id = i, name = ('x'):rep(3000) .. i }) end end) "
                + keeping
                // The memory is refused to an observer or to the script.
                + "local failed moonpool.on_error = function(e) failed = e end "
                + "for _ = 1, 60 do kept[#kept + 1] = store:objects('Named'):distinct('name'):observe(function() end) store:refresh() "
                + "if failed then error(failed, 0) end end"
        ),
        Attack(
            "plots",
            numbers + half
                + "while true do kept[#kept + 1] = store:objects('Number'):plot('n', 'n') end"),
        Attack(
            "sort keys",
            objects + "local t = {} for i = 1, 1000000 do t[i] = 'n' end "
                + "return #store:objects('Number'):sorted(t)"),
        Attack(
            "a condition for many properties",
            objects + "local t = {} for i = 1, 300000 do t['n' .. i] = i end "
                + "store:objects('Number'):where(t)"),
        Attack(
            "a long list of values in a condition",
            objects + "local t = {} for i = 1, 400000 do t[i] = i end "
                + "return #store:objects('Number'):where('n in $1', t)", result: "finished"),
        Attack(
            "a projection with many names",
            objects + "local t = {} for i = 1, 300000 do t['n' .. i] = 'n' end "
                + "store:objects('Number'):project(t)", result: "invalid_argument"),
        Attack(
            "long fields of a CSV file that is written",
            "local t = {} for i = 1, 100 do t['k' .. i] = ('x'):rep(200000) .. i end "
                + "moonpool.csv.write('a.csv', { t, t, t })", result: "finished"),
        Attack(
            "many columns of a CSV file that is written",
            "local t = {} for i = 1, 300000 do t['k' .. i] = 1 end moonpool.csv.write('a.csv', { t })",
            result: "finished"),
        Attack(
            "a printed table of long strings",
            "local x = ('x'):rep(20 << 20) moonpool.inspect({ x, x, x, x, x }, { string = 1 << 40 })",
            result: "finished"),
        Attack(
            "observers of lists in mixed values",
            collections + "local x, t = ('x'):rep(50), {} for i = 1, 50000 do t[i] = i .. x end "
                + "store:write(function() store:create('Holder', { id = 1, any = t }) end) "
                + "t = nil local holder = store:object('Holder', 1) " + keeping
                + "for _ = 1, 30 do kept[#kept + 1] = holder.any:observe(function() end) store:refresh() end",
            result: "finished"),
        Attack(
            "key paths of an observer",
            objects + "local t = {} for i = 1, 300000 do t[i] = 'n' end "
                + "store:objects('Number'):observe(function() end, { keypaths = t })"),
        Attack(
            "one long list of a write to a file",
            "store = moonpool.open { path = 'a.moonpool', schema = { Holder = { list = 'string[]' } } } "
                + "store:begin_write() local holder, x = store:create('Holder', {}), ('x'):rep(300) "
                + "for i = 1, 150000 do holder.list:append(i .. x) end store:commit_write()",
            result: "finished"),
        Attack(
            "groups of observed aggregates",
            numbers + keeping
                + "for _ = 1, 10 do kept[#kept + 1] = store:objects('Number'):group_by('n')"
                + ":observe_aggregate('sum', 'n', function() end) store:refresh() end"),
        Attack(
            "the differences between two versions",
            "store = moonpool.open { path = 'a.moonpool', schema = { Text = { s = 'string' } } } "
                + "local x = ('x'):rep(1000) for k = 1, 4 do store:write(function() "
                + "for i = 1, 1000 do store:create('Text', { s = x .. i }) end end) end "
                + "store:write(function() store:objects('Text'):update { s = x } end) "
                + keeping
                + "while true do kept[#kept + 1] = store:diff(store.version - 1, store.version) end"
        ),
        Attack(
            "words of a full-text search",
            "store = moonpool.open { in_memory = 'x', schema = { Text = { s = 'string fulltext' } } } "
                + "local t = {} for i = 1, 500000 do t[i] = 'w' .. i end "
                + "return #store:objects('Text'):where('s text $1', table.concat(t, ' '))",
            result: "invalid_query"),
        Attack(
            "long strings in JSON",
            "local x = ('é'):rep(12 << 20) moonpool.json.encode { x, x, x }"),
    ]

    /// The peaks of an empty script.
    private static let empty = try! run("")  // because no attack can be judged without it

    @Test(arguments: attacks)
    func `a script never exceeds its memory limit`(_ attack: Attack) throws {
        let base = Self.empty.peak
        let outcome = try Self.run(attack.code)
        #expect(outcome.result == attack.result)
        #expect(
            outcome.peak - base <= Self.limit / 4 * 5,
            "\(outcome.peak) MB, an empty script \(base) MB")
    }
}
