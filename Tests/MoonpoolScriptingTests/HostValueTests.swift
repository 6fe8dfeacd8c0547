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

    @Test(arguments: [
        ("a property", "age(tom)", "tom.age = tom.age + 1", "tom.owner = nil"),
        (
            "results", "count(store:objects 'Cat')", "store:create('Cat', { name = 'Kit' })",
            "tom.age = 9"
        ),
        ("a link", "owner_name(tom)", "tom.owner = nil", "tom.age = 8"),
        ("an object of the host's store", "first_age()", "tom.age = 20", "tom.owner = nil"),
    ])
    func `an effect runs again after a change of what a Swift function has read`(
        what: String, read: String, change: String, other: String
    ) async throws {
        let engine = try await engine("effects of \(what)")
        try engine.register("age(cat)") { (cat: Live<Cat>) in cat.age ?? 0 }
        try engine.register("count(cats)") { (cats: Results<Cat>) in cats.count }
        try engine.register("owner_name(cat)") { (cat: Live<Cat>) in cat.owner?.name ?? "" }
        try engine.register("first_age()") { (call: ScriptCall<Tenant>) in
            try call.store().find(Cat.self, "Tom")?.age ?? 0
        }
        try await engine.run(
            """
            runs = 0
            effect = moonpool.effect(function() runs = runs + 1 return \(read) and nil end)
            """)
        #expect(try await engine.run("return runs", as: Int.self) == 1)
        try await engine.run("store:write(function() \(change) end) store:refresh()")
        #expect(try await engine.run("return runs", as: Int.self) == 2)
        try await engine.run("store:write(function() \(other) end) store:refresh()")
        #expect(try await engine.run("return runs", as: Int.self) == 2)
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
        let message = try await engine.caught("age(owner(tom))")
        #expect(message.contains("Cat expected, got Owner"))
        let deleted = try await engine.caught(
            "local cat = tom store:write(function() store:delete(cat) end) age(cat)")
        #expect(deleted.contains("a deleted Cat"))
    }

    @Test func `Swift and other engines share an in-memory store by name`() async throws {
        let host = try Store(.memory("shared"), models: Cat.self, Owner.self, on: nil)
        defer { host.close() }
        let first = try await engine("shared")
        let second = try ScriptEngine(.sandboxed)
        try await second.open(.memory("shared"), models: Cat.self, Owner.self)
        #expect(try await second.run("return store:object('Cat', 'Tom').age", as: Int.self) == 3)
        try host.refresh()
        #expect(try host.find(Cat.self, "Tom")?.age == 3)
        // A store that a sandboxed script opens belongs to the script.
        let count = try await second.run(
            """
            local mine = moonpool.open { in_memory = "shared", schema = { Cat = { name = "string" } } }
            return #mine:objects "Cat"
            """, as: Int.self)
        #expect(count == 0)
        await first.close()
    }

    @Test func `functions take and return frozen objects`() async throws {
        let engine = try await engine("frozen")
        try engine.register("age(cat)") { (cat: Frozen<Cat>) in cat.age ?? 0 }
        try engine.register("past(cat)") { (cat: Frozen<Cat>) in cat }
        // Runs outside of the engine's thread, where live objects cannot be read.
        try engine.register("owner(cat)") { (cat: Frozen<Cat>) async in
            await Task.detached { cat.owner?.name }.value
        }
        #expect(try await engine.run("return age(tom)", as: Int.self) == 3)
        #expect(try await engine.run("return owner(tom)", as: String.self) == "Ann")
        let ages = try await engine.run(
            """
            local old, same = tom:freeze(), past(tom)
            store:write(function() tom.age = 4 end)
            return { age(old), age(same), past(same).age, age(tom) }
            """, as: [Int].self)
        #expect(ages == [3, 3, 3, 4])
        #expect(try await engine.run("return past(tom):is_frozen()", as: Bool.self))
        #expect(try await engine.run("return past(tom):thaw() == tom", as: Bool.self))
        let tom = try await engine.run("return tom", as: Frozen<Cat>.self)
        #expect(tom.name == "Tom" && tom.age == 4 && tom.owner?.name == "Ann")
        try engine.set("kept", to: tom)
        try await engine.run("store:write(function() tom.age = 5 end)")
        #expect(try await engine.run("return kept.age", as: Int.self) == 4)
        for (call, text) in [
            ("age(store:object('Owner', 'Ann'))", "Cat expected, got Owner"),
            ("age(1)", "Cat expected, got number"),
            ("store:write(function() store:delete(tom) end) age(tom)", "a deleted Cat"),
        ] {
            let message = try await engine.caught(call)
            #expect(message.contains(text), "\(message)")
        }
        let other = try ScriptEngine(.sandboxed)
        try other.register("tom()") { () in tom }
        #expect(try await other.caught("tom()").hasPrefix("invalid_argument: "))
        await other.close()
        await engine.close()
        #expect(tom.age == 4)
    }

    @Test func `functions take and return mixed values`() async throws {
        let engine = try await engine("mixed")
        let seen = Mutex<[Mixed]>([])
        try engine.register("note(value)") { (value: Mixed) in
            seen.withLock { $0.append(value) }
            return value
        }
        #expect(
            try await engine.run(
                """
                local date = moonpool.date("2020-01-02T03:04:05Z")
                assert(note(nil) == nil and note(true) == true and note(7) == 7)
                assert(note(1.5) == 1.5 and note("text") == "text" and note(date) == date)
                assert(note(tom) == tom and note({ 1, { tom } })[2][1] == tom)
                return note({ name = "Rex", ages = { 1, 2 } }).ages[2]
                """, as: Mixed.self) == 2)
        let values = seen.withLock { $0 }
        #expect(values[0...4] == [nil, true, 7, 1.5, "text"])
        #expect(values[8] == ["name": "Rex", "ages": [1, 2]])
        guard case .object(let id) = values[6], case .date = values[5] else {
            Issue.record("\(values)")
            return
        }
        #expect(id.className == "Cat" && id.of(Cat.self) != nil && id.of(Owner.self) == nil)
        #expect(values[7] == [1, [values[6]]])
        let message = try await engine.caught("note({ f = print })")
        #expect(message.contains("plain value or object expected at .f, got function"))
    }

    @Test func `a value that Lua cannot represent is an error with a code`() async throws {
        struct Limits: Codable {
            var names = ["a"]
            var maximum = [1, UInt64.max]
        }
        let engine = try await engine("unencodable")
        let error = #expect(throws: ScriptFunctionError.self) {
            try engine.set("limits", encoding: Limits())
        }
        #expect(error?.code == .outOfRange)
        #expect(error?.message == "18446744073709551615 is not a Lua integer at .maximum[2]")
        try engine.register("limits()") { () in ScriptCoded(Limits()) }
        #expect(try await engine.caught("limits()").hasPrefix("out_of_range: "))
    }

    @Test func `a model that differs from the class is refused`() async throws {
        let engine = try await engine("differs")
        try engine.register("name(cat)") { (cat: Live<OtherCat>) in cat.name }
        let message = try await engine.caught("name(tom)")
        #expect(message.contains("differs from the model"))
    }

    @Test func `calls have the state of the host and are part of the script's write`() async throws
    {
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
        // Outside of a write, the assignment is an error of the script, and the host continues.
        #expect(try await engine.caught("silent(tom)").hasPrefix("not_in_write: "))
        #expect(throws: StoreError.self) {
            try engine.register("other(x)") { (call: ScriptCall<Int>, x: Int) in x + call.state }
        }
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
        let message = try await engine.caught("return tom.yaers")
        #expect(message.contains("years"))
    }

    @Test func `Codable values, dates and identifiers are converted both ways`() async throws {
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
        #expect(discount == Discount(percent: 10, reason: "kind", days: [1, 2], until: moment))
        #expect(try await engine.run("return same(discount(1)['until'], id)", as: Bool.self))
        #expect(try await engine.run("return settings.days[1]", as: Int.self) == 3)
        do {
            let wrong: Discount = try await engine.run("return { percent = 'x' }")
            Issue.record("\(wrong)")
        } catch let failure as ScriptFailure {
            #expect(failure.code == "type_mismatch" && failure.message.contains(".percent"))
        }
        let tom: Cat = try await engine.run("return tom")
        #expect(tom.name == "Tom" && tom.age == 3)
    }

    @Test func `a module that does not compile keeps the old one`() async throws {
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
    }
}

@Suite struct ScriptOutputTests {
    @Test func `output receives the lines of print, io.write and io.stderr`() async throws {
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
        try await engine.run("setmetatable({}, { __gc = function() io.write('last\\n') end })")
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
    }
}

private struct Note: Model, Equatable {
    var id = UUID()
    var text = ""
    var created = Timestamp.now
    var code = ObjectIDValue.generate()
    var count = 5
    var tags: [String] = ["new"]
    var extra = Extra()
    var others: [Link<Note>] = []
    static let options = ModelOptions<Note>(primaryKey: \.id)
}
private struct Extra: EmbeddedModel, Equatable {
    var key = UUID()
    var size = 3
}
private struct CodableNote: Model, Codable { var text = "" }

/// Objects that scripts create from the models of the host, and return to it.
@Suite struct ScriptObjectDefaultTests {
    private func engine() async throws -> ScriptEngine {
        let engine = try ScriptEngine(.sandboxed)
        try await engine.open(
            .memory(UUID().uuidString), models: Note.self, Extra.self, CodableNote.self)
        return engine
    }

    @Test func `Objects that scripts create have the computed defaults of the model`() async throws
    {
        let engine = try await engine()
        let begin = Timestamp.now
        let notes: [Note] = try await engine.run(
            """
            store:write(function()
                for i = 1, 3 do store:create('Note', { text = 'n' .. i }) end
                store:create('Note', { text = 'own', count = 1, tags = {}, extra = { size = 9 } })
            end)
            return store:objects('Note'):sorted('text')
            """)
        #expect(notes.map(\.text) == ["n1", "n2", "n3", "own"])
        #expect(Set(notes.map(\.id)).count == 4 && Set(notes.map(\.code)).count == 4)
        #expect(Set(notes.map(\.extra.key)).count == 4)
        #expect(notes.allSatisfy { $0.created >= begin && $0.created <= .now })
        #expect(notes[0].count == 5 && notes[0].tags == ["new"] && notes[0].extra.size == 3)
        #expect(notes[3].count == 1 && notes[3].tags == [] && notes[3].extra.size == 9)
    }

    @Test func `Scripts return arrays of models, identities and frozen objects`() async throws {
        let engine = try await engine()
        try await engine.run(
            """
            store:write(function()
                first = store:create('Note', { text = 'a' })
                first.others:append(store:create('Note', { text = 'b' }))
                store:create('CodableNote', { text = 'c' })
            end)
            """)
        let query = "return store:objects('Note'):sorted('text')"
        #expect(try await engine.run(query, as: [Note].self).map(\.text) == ["a", "b"])
        #expect(try await engine.run("return { first }", as: [Note].self).map(\.text) == ["a"])
        #expect(try await engine.run("return first.others", as: [Note].self).map(\.text) == ["b"])
        #expect(
            try await engine.run("return store:objects('CodableNote')", as: [CodableNote].self)
                .map(\.text) == ["c"])
        #expect(try await engine.run(query, as: [ObjectID<Note>].self).count == 2)
        let frozen = try await engine.run(query, as: [Frozen<Note>].self)
        #expect(frozen.map(\.text) == ["a", "b"])
        #expect(try await engine.run("return first.tags", as: [String].self) == ["new"])
        await #expect(throws: ScriptFailure.self) {
            try await engine.run("return store:objects('Note')", as: [CodableNote].self)
        }
    }
}
