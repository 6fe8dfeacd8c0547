import FoundationEssentials
import MoonpoolScripting
import Synchronization
import TestThreads
import Testing

private struct Owner: Model, Codable, Equatable {
    var name = ""
    static let options = ModelOptions<Owner>(primaryKey: \.name)
}
private struct Cat: Model, Codable, Equatable {
    var name = ""
    var age: Int?
    var seen: Date?
    var owner: Link<Owner>?
    static let options = ModelOptions<Cat>(primaryKey: \.name)
}
private struct OtherCat: Model {
    var name = 0
    static let className = "Cat"
}
private struct Discount: Codable, Sendable, Equatable {
    var percent: Double
    var reason: String?
    var days: [Int] = []
    var until: Date?
}
private struct Tenant: Sendable, Equatable {
    var id: Int
    var calls = 0
}

@Suite struct HostValueTests {
    private func engine(_ name: String) async throws -> ScriptEngine {
        let engine = try ScriptEngine(.sandboxed, state: Tenant(id: 7))
        try await engine.open(.memory(name), models: Cat.self, Owner.self)
        try await engine.run(
            """
            store:write(function()
              local ann = store:create("Owner", { name = "Ann" })
              store:create("Cat", { name = "Tom", age = 3, owner = ann })
            end)
            tom = store:object("Cat", "Tom")
            """)
        return engine
    }

    @Test func `functions take and return live objects and results`() async throws {
        let engine = try await engine("live")
        try engine.register("age(cat)") { (cat: Live<Cat>) in cat.age ?? 0 }
        try engine.register("owner(cat)") { (cat: Live<Cat>) in cat.owner }
        try engine.register("old(cats)") { (cats: Results<Cat>) in cats.where { $0.age > 2 } }
        try engine.register("names(cats)") { (cats: [Live<Cat>]) in cats.map(\.name) }
        #expect(try await engine.run("return age(tom)", as: Int.self) == 3)
        #expect(try await engine.run("return owner(tom).name", as: String.self) == "Ann")
        #expect(try await engine.run("return #old(store:objects 'Cat')", as: Int.self) == 1)
        #expect(try await engine.run("return names { tom }[1]", as: String.self) == "Tom")
        let message = try await engine.run(
            "local ok, err = pcall(age, owner(tom)); return tostring(err)", as: String.self)
        #expect(message.contains("Cat expected, got Owner"))
        let deleted = try await engine.run(
            """
            local cat = tom
            store:write(function() store:delete(cat) end)
            local ok, err = pcall(age, cat)
            return tostring(err)
            """, as: String.self)
        #expect(deleted.contains("a deleted Cat"))
        await engine.close()
    }

    @Test func `a model that differs from the class is refused`() async throws {
        let engine = try await engine("differs")
        try engine.register("name(cat)") { (cat: Live<OtherCat>) in cat.name }
        let message = try await engine.run(
            "local ok, err = pcall(name, tom); return tostring(err)", as: String.self)
        #expect(message.contains("differs from the model"))
        await engine.close()
    }

    @Test func `calls know the state of the host and join the script's write`() async throws {
        let engine = try await engine("calls")
        try engine.register("birthday(cat)") { (call: ScriptCall<Tenant>, cat: Live<Cat>) in
            call.state.calls += 1
            try call.write { _ in cat.age = (cat.age ?? 0) + 1 }
            return call.state.id
        }
        try engine.register("silent(cat)") { (cat: Live<Cat>) in cat.age = 99 }
        let id = try await engine.run(
            """
            birthday(tom)
            store:write(function() birthday(tom) end)
            pcall(store.write, store, function() birthday(tom) error("no") end)
            return birthday(tom)
            """, as: Int.self)
        #expect(id == 7)
        #expect(try await engine.run("return tom.age", as: Int.self) == 6)
        #expect(try await engine.state(as: Tenant.self) == Tenant(id: 7, calls: 4))
        // Outside of a write the assignment is an error of the script, and the host continues.
        let message = try await engine.run(
            "local ok, err = pcall(silent, tom); return err.code", as: String.self)
        #expect(message == "not_in_write")
        #expect(throws: StoreError.self) {
            try engine.register("other(x)") { (call: ScriptCall<Int>, x: Int) in x + call.state }
        }
        await engine.close()
    }

    @Test func `a model has methods and properties in Lua`() async throws {
        let engine = try await engine("methods")
        try engine.register(Cat.self) { cat in
            cat.method("years(factor)") { (cat: Live<Cat>, factor: Int?) in
                (cat.age ?? 0) * (factor ?? 7)
            }
            cat.property("isOld") { cat in (cat.age ?? 0) > 10 }
            cat.function("loud(name)") { (name: String) in name.uppercased() }
        }
        #expect(try await engine.run("return tom:years()", as: Int.self) == 21)
        #expect(try await engine.run("return tom:years(2)", as: Int.self) == 6)
        #expect(try await engine.run("return tom.isOld", as: Bool.self) == false)
        #expect(try await engine.run("return Cat.loud('tom')", as: String.self) == "TOM")
        let message = try await engine.run(
            "local ok, err = pcall(function() return tom.yaers end); return tostring(err)",
            as: String.self)
        #expect(message.contains("years"))
        await engine.close()
    }

    @Test func `Codable values, dates and identifiers pass both ways`() async throws {
        let engine = try await engine("coded")
        let moment = Date(timeIntervalSince1970: 1_000_000)
        let identifier = UUID()
        try engine.register("discount(percent)") { (percent: Double) in
            ScriptCoded(Discount(percent: percent, reason: "kind", days: [1, 2], until: moment))
        }
        try engine.register("percent(discount)") { (discount: ScriptCoded<Discount>) in
            discount.value.percent
        }
        try engine.register("same(date, id)") { (date: Date, id: UUID) in
            date == moment && id == identifier
        }
        try engine.set("id", to: identifier)
        try engine.set("settings", encoding: Discount(percent: 1, days: [3]))
        #expect(
            try await engine.run("return percent { percent = 5, days = {} }", as: Double.self) == 5)
        let discount: Discount = try await engine.run("return discount(10)")
        #expect(
            discount == Discount(percent: 10, reason: "kind", days: [1, 2], until: moment))
        #expect(
            try await engine.run("return same(discount(1)['until'], id)", as: Bool.self))
        #expect(try await engine.run("return settings.days[1]", as: Int.self) == 3)
        do {
            let wrong: Discount = try await engine.run("return { percent = 'x' }")
            Issue.record("\(wrong)")
        } catch let failure as ScriptFailure {
            #expect(failure.code == "type_mismatch" && failure.message.contains(".percent"))
        }
        let tom: Cat = try await engine.run("return tom")
        #expect(tom.name == "Tom" && tom.age == 3)
        await engine.close()
    }

    @Test func `a module that does not compile leaves the old one`() async throws {
        let engine = try await engine("modules")
        try await engine.load("rules", source: "return { limit = 1 }")
        try await engine.run("rules = require 'rules'")
        try await engine.load("rules", source: "return { limit = 2 }")
        #expect(try await engine.run("return rules.limit", as: Int.self) == 2)
        for source in ["return {", "error('no')"] {
            await #expect(throws: ScriptFailure.self) {
                try await engine.load("rules", source: source)
            }
        }
        #expect(try await engine.run("return rules.limit", as: Int.self) == 2)
        try await engine.run("rules.limit = 5")
        try await engine.reload("rules")
        #expect(try await engine.run("return rules.limit", as: Int.self) == 2)
        await engine.close()
    }
}

@Suite struct ScriptOutputTests {
    @Test func `output gets print, io.write and io.stderr by lines`() async throws {
        let lines = Mutex<[String]>([])
        let engine = try ScriptEngine(
            ScriptConfiguration(output: { line in lines.withLock { $0.append(line) } }))
        try await engine.run(
            """
            io.write("a", 1)
            print("b")
            io.stdout:write("c\\nd"):write("e\\n")
            io.stderr:write("bad\\n")
            assert(io.type(io.stdout) == "file" and io.output() == io.stdout)
            assert(not io.stdout:close())
            print("two\\nlines")
            io.write("unfinished")
            """)
        #expect(
            lines.withLock { $0 } == [
                "a1b\n", "c\n", "de\n", "bad\n", "two\n", "lines\n", "unfinished",
            ])
        try await engine.run(
            "setmetatable({}, { __gc = function() io.write('last\\n') end })")
        await engine.close()
        #expect(lines.withLock { $0.last } == "last\n")
    }
}

@Suite struct ScriptUsageTests {
    @Test func `an engine reports the usage of its runs`() async throws {
        let engine = try ScriptEngine(
            .sandboxed(limits: ScriptLimits(memory: 64 << 20, instructions: 10_000_000)))
        #expect(engine.usage.runs == 0)
        try await engine.open(.memory("usage"), models: Cat.self, Owner.self)
        try await engine.run(
            """
            token = store:objects("Cat"):observe(function() end)
            kept = string.rep("x", 1000000)
            for i = 1, 100000 do end
            """)
        let usage = engine.usage
        #expect(usage.runs == 2 && usage.stores == 1 && usage.observers == 1)
        #expect(usage.memory > 1_000_000 && usage.time > .zero)
        #expect((100_000...1_000_000).contains(usage.instructions ?? 0))
        await engine.close()
    }

    @Test func `a failure names the limit that ended the run`() async throws {
        let engine = try ScriptEngine(
            .sandboxed(
                limits: ScriptLimits(memory: 8 << 20, time: .seconds(30), instructions: 5_000_000)))
        func limit(_ source: String) async -> ScriptLimits.Kind? {
            do { try await engine.run(source) } catch let failure as ScriptFailure {
                return failure.limit
            } catch {}
            return nil
        }
        #expect(await limit("while true do end") == .instructions)
        #expect(
            await limit("local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. #t end")
                == .memory)
        #expect(await limit("error 'no'") == nil)
        await engine.close()
    }
}
