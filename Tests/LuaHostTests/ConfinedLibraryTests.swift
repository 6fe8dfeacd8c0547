import LuaHost
import Testing

/// A generator of the same numbers in each run.
private struct Dice: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 29
    }
}

@Suite struct ConfinedLibraryTests {
    private let plain = LuaState()
    private let confined = LuaState(libraries: .confined, isConfined: true)

    /// Returns the results of code, or the message of its error, as one text.
    private func outcome(_ state: LuaState, _ code: String, _ arguments: [LuaValue] = [])
        -> [LuaValue]
    {
        do throws(LuaError) {
            return try state.run(code, name: "=t", arguments: arguments)
        } catch {
            return [.text("error: " + error.message)]
        }
    }

    private func isSame(_ code: String, _ arguments: [LuaValue] = []) -> Bool {
        let expected = outcome(plain, code, arguments)
        let found = outcome(confined, code, arguments)
        if expected != found { print("\(code) \(arguments): \(found), not \(expected)") }
        return expected == found
    }

    @Test(arguments: [
        "return ('hello world'):find('o w')", "return ('a.b'):find('.', 1, true)",
        "return ('abc'):find('b', -1)", "return ('abc'):find('', 10)", "return ('abc'):find('', 4)",
        "return ('abc'):find('()b()')", "return ('key = value'):match('^(%w+)%s*=%s*(%w+)$')",
        "return ('THE (quick) fox'):find('%((%a+)%)')", "return ('f(a(b)c)d'):match('%b()')",
        "return ('THE (quick) fox'):gsub('%f[%a]%a+', string.lower)", "return ('x'):rep(3, ',')",
        "return ('hello'):gsub('', '-')", "return ('hello world'):gsub('o', '0', 1)",
        "return ('abc'):gsub('%w', '%0%0')", "return ('abc'):gsub('(%w)(%w)', '%2%1')",
        "return ('$name is $age'):gsub('%$(%w+)', { name = 'Rex', age = 3 })",
        "return ('abc'):gsub('b', function() return false end)", "return ('abc'):gsub('b', '%')",
        "return ('abc'):gsub('b', '%2')", "return ('abc'):gsub('b', '%x')",
        "return ('abc'):gsub('b', {b = {}})", "return ('abc'):gsub('b', nil)",
        "return ('abc'):gsub('^a', 'x'), ('aaa'):gsub('^a', 'x')", "return ('abc'):gsub('b', 5)",
        "return ('abc'):find('[')", "return ('abc'):find('[a')", "return ('abc'):find('[]')",
        "return ('abc]'):find('[]]')", "return ('a-b'):find('[a-]', 2)",
        "return ('abc'):find('[^%a]')",
        "return ('abc'):find('%')", "return ('abc'):find('(')", "return ('abc'):find(')')",
        "return ('abc'):find('%1')", "return ('abc'):find('(a)%1')", "return ('aa'):find('(a)%1')",
        "return ('abc'):find('(%1)')", "return ('abc'):find('%b')", "return ('abc'):find('%bx')",
        "return ('abc'):find('%f')", "return ('a\\0b'):find('\\0')", "return ('a\\0b'):match('%z')",
        "return ('abc'):match('.-c')", "return ('abc'):match('a?b?c?d?$')",
        "return ('abc'):match('()')",
        "return ('a'):rep(300):match(('a?'):rep(300))", "return ('abc'):find('b', nil, true)",
        "return ('x'):find(('('):rep(40))",
        "local t = {} for a, b in ('k=v, x=y'):gmatch('(%w)=(%w)') do t[#t + 1] = a .. b end return table.concat(t, ';')",
        "local t = {} for p in ('abc'):gmatch('()') do t[#t + 1] = p end return table.concat(t, ';')",
        "local t = {} for w in ('one two'):gmatch('%a+', 4) do t[#t + 1] = w end return table.concat(t, ';')",
        "local t = {} for w in ('abc'):gmatch('^a') do t[#t + 1] = w end return #t",
        "return string.gmatch('a', 'a')()", "return ('abc'):find()", "return ('abc'):gsub('a')",
        "return ('abc'):gsub('a', 'b', 'x')", "return string.find(nil, 'a')",
        "return ('\\255'):find('[\\200-\\255]')",
    ])
    func `patterns have the results of Lua's own functions`(_ code: String) {
        #expect(isSame(code))
    }

    @Test(arguments: [
        "local t = {1, 2, 3} table.insert(t, 4) table.insert(t, 1, 0) return table.unpack(t)",
        "local t = {1, 2, 3} table.insert(t, 5, 0)", "table.insert({}, 0, 1)", "table.insert({})",
        "table.insert({}, 1, 2, 3)", "table.insert(1, 2)", "table.insert({}, 'x', 1)",
        "table.insert(nil, 1)",
        "local t = {1, 2, 3} return table.remove(t), table.remove(t, 1), #t, table.remove({}), table.remove({}, 0)",
        "return table.remove({1, 2}, 3)", "return table.remove({1, 2}, 4)",
        "return table.remove({1, 2}, 0)",
        "return table.unpack(table.move({1, 2, 3}, 1, 3, 2))",
        "return table.unpack(table.move({1, 2, 3}, 2, 3, 1))",
        "return table.unpack(table.move({1, 2, 3}, 1, 3, 3, {9, 9}))",
        "table.move({}, 1, math.maxinteger, 2)",
        "table.move({}, math.mininteger, 5, 2)", "table.move({}, 1, 2, 'x')",
        "return table.concat({1, 2.5, 'x'}, '-')",
        "return table.concat({1, {}, 3})", "return table.concat({1, 2, 3}, ',', 2, 3)",
        "return table.concat({}, 'x')",
        "return table.concat({1, 2}, ',', 1, 3)",
        "return table.concat({[math.maxinteger] = 'x'}, 'y', math.maxinteger, math.maxinteger)",
        "return table.unpack({1, 2, 3}, 2)", "return table.unpack({1, 2}, 1, 4)",
        "return table.unpack({}, 1, 1e8)",
        "return table.unpack({}, math.mininteger, math.maxinteger)",
        "return table.unpack({[-1] = 'x'}, -1, -1)",
        "local t = {5, 2, 8, 1} table.sort(t) return table.unpack(t)", "table.sort({3, 'x', 1})",
        "table.sort({1, 2}, 5)",
        "local t = {'b', 'a', 'c'} table.sort(t, function(x, y) return x > y end) return table.unpack(t)",
        "local t = setmetatable({}, {__len = function() return 2 end, __index = function(_, i) return i * 10 end}) return table.concat(t, ' ')",
    ])
    func `tables change as with Lua's own functions`(_ code: String) {
        let expected = outcome(plain, code)
        let found = outcome(confined, code)
        // Lua's own messages about comparisons name other variables.
        if case .string(let text)? = expected.first, text.description.hasPrefix("error: "),
            code.contains("sort")
        {
            #expect(found.first?.text?.hasPrefix("error: ") == true)
        } else {
            #expect(found == expected)
        }
    }

    @Test func `random patterns on random texts have the results of Lua's own functions`() {
        var dice = Dice(state: 4)
        let pieces = [
            "a", "b", "c", ".", "%a", "%d", "%w", "%s", "%u", "%A", "[ab]", "[^b]", "[a-c]",
            "[%d_]", "(", ")",
            "()", "*", "+", "-", "?", "^", "$", "%b()", "%f[%w]", "%1", "%2", "%%", "%.", "[", "]",
            "%",
        ]
        let letters = Array("aabbc1 (A)_.".utf8)
        for _ in 0..<4_000 {
            let pattern = (0..<Int.random(in: 0...6, using: &dice)).map { _ in
                pieces.randomElement(using: &dice)!
            }.joined()
            let text = LuaString(
                bytes: (0..<Int.random(in: 0...12, using: &dice)).map { _ in
                    letters.randomElement(using: &dice)!
                })
            let start = LuaValue.integer(Int64.random(in: -3...5, using: &dice))
            let code = """
                local s, p, i = ...
                local words = {}
                local ok, e = pcall(function() for a, b in s:gmatch(p, i) do words[#words + 1] = tostring(a) .. tostring(b) end end)
                return table.concat(words, ','), e, table.concat(table.pack(pcall(string.gsub, s, p, ({ '<%0>', '%1', '%2-%1', '%%x', 'x%', '%9' })[i + 4] or '')), ' ', 2, 2),
                    select(2, pcall(string.find, s, p, i)), select(3, pcall(string.find, s, p, i)), pcall(string.match, s, p, i)
                """
            guard isSame(code, [.string(text), .text(pattern), start]) else {
                Issue.record("pattern \(pattern) on \(text)")
                return
            }
        }
    }

    @Test func `random tables are sorted with any comparison`() throws {
        var dice = Dice(state: 7)
        for _ in 0..<200 {
            let values = (0..<Int.random(in: 0...60, using: &dice)).map { _ in
                Int64.random(in: 0...20, using: &dice)
            }
            let table = confined.makeTable(values.map { .integer($0) })
            try confined.globals["table"].table?["sort"].function?.call([.table(table)])
            #expect(table.array.map(\.integer) == values.sorted())
            let nonsense = try confined.run(
                "local n = 0 return function() n = (n * 7 + 3) % 11 return n > 4 end")[0]
            try confined.globals["table"].table?["sort"].function?.call([.table(table), nonsense])
            #expect(table.array.compactMap(\.integer).sorted() == values.sorted())
        }
    }

    @Test(arguments: [
        "('a'):rep(60):find(('a*'):rep(40) .. 'b')", "('a'):rep(1000000):find('.-b')",
        "('x'):rep(300000):gsub('.-y', '')", "('a'):rep(60):match(('a-'):rep(40) .. 'b')",
        "for _ in ('a'):rep(60):gmatch(('a?a*'):rep(30) .. 'b') do end",
        "('('):rep(3000000):find('%b()')",
        "('a'):rep(2000000):find(('a'):rep(1000000) .. 'b', 1, true)",
        "table.move({}, 1, math.maxinteger - 1, 2)",
        "table.move({}, 1, 1 << 62, 1, setmetatable({}, { __newindex = rawequal }))",
        "table.remove(setmetatable({}, { __len = function() return math.maxinteger end }), 1)",
        "table.insert(setmetatable({}, { __len = function() return 1 << 62 end }), 1, 5)",
        "table.concat(setmetatable({}, { __index = table.concat }), '', 1, math.maxinteger)",
        "table.sort(setmetatable({}, { __len = function() return 2147483646 end, __index = rawlen }), rawequal)",
        "local t = {} for i = 0, 62 do t[1 << i] = 1 end table.insert(t, 1, 1)",
    ])
    func `the limits of a sandboxed script stop its native functions`(_ code: String) throws {
        for limit in ["time", "instructions"] {
            let state = LuaState(libraries: .confined, isConfined: true)
            if limit == "time" {
                state.setTimeLimit(.milliseconds(50))
            } else {
                state.setInstructionLimit(300_000)
            }
            let error = #expect(throws: LuaError.self) {
                try state.run("while true do pcall(function() \(code) end) end")
            }
            #expect(error?.limit?.limit.rawValue == limit)
        }
    }

    @Test(arguments: [(200, 200), (50000, nil)])
    func `coroutines that close each other do not exceed the stack`(count: Int, closed: Int?) throws
    {
        let results = try confined.run(
            """
            local last
            local closed = 0
            for i = 1, ... do
              local before = last
              last = coroutine.create(function()
                local _ <close> = setmetatable({}, { __close = function()
                  closed = closed + 1
                  if before then coroutine.close(before) end
                end })
                coroutine.yield()
              end)
              coroutine.resume(last)
            end
            coroutine.close(last)
            return closed
            """, arguments: [.integer(Int64(count))])
        let found = try #require(results.first?.integer)
        if let closed { #expect(found == closed) } else { #expect(found < count) }
    }
}
