import LuaHost
import TestThreads
import Testing

@testable import REPL

/// Successive entries and their expected output.
struct Entries {
    let state = LuaState()
    let evaluator: Evaluator

    init() { evaluator = Evaluator(state) }

    @discardableResult
    func run(_ entry: String) throws -> [LuaValue] {
        try evaluator.evaluate(entry) { try $0() }
    }

    func value(_ entry: String) throws -> LuaValue { try run(entry).first ?? .nil }
}

@Suite struct LocalsTests {
    @Test func `a local is available in later entries`() throws {
        let entries = Entries()
        try entries.run("local x, y = 1, 'two'")
        #expect(try entries.run("x, y") == [1, "two"])
        try entries.run("x = x + 1")
        #expect(try entries.value("x") == 2)
        #expect(try entries.value("_G.x") == .nil)
    }

    @Test func `closures and entries share the variable`() throws {
        let entries = Entries()
        try entries.run("local n = 0; local function count() n = n + 1 return n end")
        #expect(try entries.value("count()") == 1)
        #expect(try entries.value("n") == 1)
        try entries.run("n = 10")
        #expect(try entries.value("count()") == 11)
        try entries.run("function bump() n = n + 5 end bump()")
        #expect(try entries.value("n") == 16)
    }

    @Test func `a new local of the same name is a new variable`() throws {
        let entries = Entries()
        try entries.run("local x = 1; function old() return x end")
        try entries.run("local x = x + 1")
        #expect(try entries.run("old(), x") == [1, 2])
        try entries.run("local x = 3 local x = x * 2")
        #expect(try entries.run("old(), x") == [1, 6])
    }

    @Test func `locals of blocks and functions are not kept for later entries`() throws {
        let entries = Entries()
        try entries.run(
            """
            local t = { f = function() local inner = 1 return inner end }
            do local hidden = 1 end
            for i = 1, 2 do local looped = i end
            if true then local branch = 1 else local other = 2 end
            repeat local again = true until again
            while false do local never = 1 end
            local last = t.f()
            """)
        #expect(entries.evaluator.localNames == ["last", "t"])
        #expect(try entries.value("last") == 1)
        #expect(try entries.value("hidden") == .nil)
    }

    @Test func `locals that were declared before an error stay`() throws {
        let entries = Entries()
        #expect(throws: LuaError.self) {
            try entries.run("local a = 1\nlocal b = 2\nerror('x')\n")
        }
        #expect(try entries.run("a, b") == [1, 2])
        #expect(throws: LuaError.self) { try entries.run("local d = f(1)(2) local e = 5") }
        #expect(try entries.run("d, e") == [.nil, .nil])
        #expect(throws: LuaError.self) { try entries.run("local c = 3 if c then error('x') end") }
        #expect(try entries.value("c") == 3)
    }

    @Test func `constants stay constant`() throws {
        let entries = Entries()
        try entries.run("local k <const>, t <const> = 5, {}")
        #expect(try entries.value("k") == 5)
        let error = #expect(throws: LuaError.self) { try entries.run("k = 6") }
        #expect(error?.message.contains("attempt to assign to const variable 'k'") == true)
        try entries.run("local k = 7")
        try entries.run("k = 8")
        #expect(try entries.value("k") == 8)
        try entries.run("local a <const> = 1 local b = 2")
        #expect(try entries.run("a, b") == [1, 2])
    }

    @Test func `variables with <close> stay open after an entry`() throws {
        let entries = Entries()
        try entries.run(
            "closed = false; local h <close> = setmetatable({}, { __close = function() closed = true end })"
        )
        #expect(try entries.value("closed") == false)
        #expect(try entries.value("type(h)") == "table")
    }

    @Test func `an entry can return`() throws {
        let entries = Entries()
        #expect(try entries.run("local x = 4 return x, x + 1") == [4, 5])
        #expect(try entries.value("x") == 4)
    }

    @Test func `a local called _ENV changes what globals are`() throws {
        let entries = Entries()
        try entries.run("local _ENV = { answer = 42 }")
        #expect(try entries.value("answer") == 42)
        try entries.run("made = 1")
        #expect(try entries.value("_ENV.made") == 1)
        #expect(entries.state.globals["made"] == .nil)
    }

    @Test func `labels and comments have no effect on locals`() throws {
        let entries = Entries()
        try entries.run("local i = 0 ::top:: i = i + 1 if i < 3 then goto top end -- counted")
        #expect(try entries.value("i") == 3)
        try entries.run("local s = [[ local no = 1 ]] -- local neither = 2")
        #expect(entries.evaluator.localNames == ["i", "s"])
        try entries.run("do goto done end local skipped = 1 ::done::")
    }

    @Test func `hundreds of locals do not exceed Lua's limit`() throws {
        let entries = Entries()
        for number in 1...300 { try entries.run("local v\(number) = \(number)") }
        #expect(try entries.run("v1, v150, v300") == [1, 150, 300])
    }

    @Test func `lines keep their numbers in messages`() throws {
        let entries = Entries()
        try entries.run("local t")
        let error = #expect(throws: LuaError.self) { try entries.run("local a = 1\n\nt.x = a") }
        #expect(error?.message == "entry 2:3: attempt to index a nil value (upvalue 't')")
    }

    @Test func `an entry has no arguments`() throws {
        let entries = Entries()
        #expect(try entries.value("select('#', ...)") == 0)
    }

    @Test func `random programs have the same effect as entries and as one chunk`() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<200 {
            let statements = (0..<8).map { _ in Self.statement(&random) }
            let entries = Entries()
            let whole = LuaState()
            let expected = try whole.run(
                statements.joined(separator: "\n") + "\nreturn a, b, c, f and f(), g and g()")
            for statement in statements { try entries.run(statement) }
            #expect(try entries.run("a, b, c, f and f(), g and g()") == expected, "\(statements)")
        }
    }

    private static func statement(_ random: inout SeededGenerator) -> String {
        let names = ["a", "b", "c"]
        let name = names.randomElement(using: &random)!
        let other = names.randomElement(using: &random)!
        let number = Int.random(in: 0..<100, using: &random)
        return [
            "local \(name) = \(number)", "\(name) = \(number)",
            "local \(name), \(other) = \(number), (\(other) or 0) + 1",
            "function f() \(name) = (\(name) or 0) + \(number) return \(name) end",
            "local function g() return \(name), \(other) end",
            "local function f() \(other) = \(name) return \(other) end",
            "do local \(name) = \(number) \(other) = \(name) end",
            "if f then f() end",
        ].randomElement(using: &random)!
    }
}
