import LuaHost
import Testing

/// A class of live objects over an array.
final class Rows: LuaLiveClass {
    var rows: [[String: LuaValue]] = []
    var names: [String]
    var declines = false
    init(_ names: [String]) { self.names = names }

    override func get(_ key: Int64, _ slot: Int, _ result: borrowing LuaResult) throws {
        guard slot >= 0 else { throw LuaArgumentError("no property \(result.key.text ?? "?")") }
        result.set(rows[Int(key)][names[slot]] ?? .nil)
    }
    override func set(_ key: Int64, _ slot: Int, _ value: borrowing LuaField) throws {
        guard slot >= 0 else { throw LuaArgumentError("no property \(value.key.text ?? "?")") }
        rows[Int(key)][names[slot]] = value.luaValue
    }
    override func create(_ fields: borrowing LuaFields) throws -> Int64? {
        if declines { return nil }
        var row: [String: LuaValue] = [:]
        for i in 0..<fields.count { row[names[fields.slot(i)]] = fields.field(i).luaValue }
        rows.append(row)
        return Int64(rows.count - 1)
    }
}

final class Keys: LuaKeySource {
    let count: Int
    init(_ count: Int) { self.count = count }
    override func fill(_ batch: inout MutableSpan<Int64>, from position: Int) throws -> Int {
        if position >= 1000, count == 1001 { throw Broken() }
        let n = min(batch.count, count - position)
        for i in 0..<max(n, 0) { batch[i] = Int64(position + i) }
        return max(n, 0)
    }
}

/// A box that creates live objects.
final class Maker {
    let rows: Rows
    init(_ rows: Rows) { self.rows = rows }
    static let type = LuaClass<Maker>(
        name: "maker",
        methods: [
            LuaMethod("create", fastCreate: true) { maker, call in
                guard try call.text(2) == "Row" else { throw LuaArgumentError("unknown class") }
                let table = try call.table(3)
                maker.rows.rows.append(
                    Dictionary(
                        uniqueKeysWithValues: table.pairs.map { ($0.key.text ?? "", $0.value) }))
                return call.answer(
                    LuaLiveObject(type: maker.rows, key: Int64(maker.rows.rows.count - 1)))
            },
            LuaMethod("each") { maker, call in
                call.answer(each: maker.rows, of: Keys(Int(try call.integer(2))))
            },
        ],
        index: { maker, i, result in
            if i >= 1, i <= maker.rows.rows.count {
                result.set(maker.rows, i - 1)
            } else {
                result.setNil()
            }
        },
        resolve: { maker, address, text in
            address == maker.rows.internedName || text() == "Row" ? maker.rows : nil
        })
}

private let rowMethods = LuaLiveMethods(
    methods: [
        LuaMethod("key") { $1.answer(.integer($0.key)) },
        LuaMethod("name") { _, call in call.answer("method") },
    ],
    metamethods: [
        LuaMethod("__tostring") { $1.answer(.text("Row \($0.key)")) },
        LuaMethod("__len") { $1.answer(.integer($0.key)) },
    ])

@Suite struct LiveClassTests {
    let state = LuaState()
    let rows = Rows([
        "name", "age", "a_name_that_is_far_longer_than_what_lua_interns_as_a_short_string",
    ])

    init() {
        state.register(
            rows, name: "Row", methods: rowMethods,
            properties: rows.names.enumerated().map { ($1, $0) })
        state.globals["maker"] = state.userdata(Maker(rows), Maker.type)
        rows.rows = [["name": "Rex", "age": 3]]
        state.globals["rex"] = state.userdata(LuaLiveObject(type: rows, key: 0))
    }

    @Test func `properties, methods and metamethods are found, and a property takes precedence`()
        throws
    {
        #expect(
            try state.run(
                "return rex.name, rex.age, rex:key(), tostring(rex), #rex, rex == maker[1]")
                == ["Rex", 3, 0, "Row 0", 0, true])
        try state.run(
            "rex.age = 4 rex['a_name_that_is_far_longer_' .. 'than_what_lua_interns_as_a_short_string'] = 1"
        )
        #expect(rows.rows[0]["age"] == 4)
        #expect(
            try state.run(
                "return rex.a_name_that_is_far_longer_than_what_lua_interns_as_a_short_string") == [
                    1
                ])
        let method = try #require(state.function("name", of: rowMethods))
        #expect(try method.call([state.globals["rex"]]) == ["method"])
    }

    @Test func `a class gains and loses properties while scripts hold its objects`() throws {
        rows.names.append("tall")
        rows.rows[0]["tall"] = true
        state.setProperties([("age", 1), ("tall", 3)], of: rows)
        #expect(try state.run("return rex.tall, rex.age, rex.name ~= nil") == [true, 3, true])
        #expect(try state.run("return rex:name()") == ["method"])
        state.setProperties(rows.names.enumerated().map { ($1, $0) }, of: rows)
        #expect(try state.run("return rex.name") == ["Rex"])
    }

    @Test func `objects are created from a table in one pass, or by the general path`() throws {
        #expect(
            try state.run(
                "local r = maker:create('Row', {name = 'Max', age = 1}) return r:key(), r.name")
                == [1, "Max"])
        rows.declines = true
        #expect(
            try state.run(
                "local r = maker:create('Row', {name = 'Tim', age = 1}) return r:key(), r.name")
                == [2, "Tim"])
        #expect(try state.run("return maker:create('Row', {other = {}}):key()") == [3])
        #expect(
            try state.run("return select(2, pcall(maker.create, maker, 'Dog', {})).message") == [
                "unknown class"
            ])
        #expect(
            try state.run("return select(2, pcall(maker.create, 1, 'Dog', {})).message")
                == [
                    "calling 'create' on bad self (maker expected, got number; call it as x:create(…))"
                ])
    }

    @Test func `an iteration returns every key, in batches, and raises errors`() throws {
        rows.rows = (0..<2000).map { ["age": .integer(Int64($0))] }
        for count in [0, 1, 255, 256, 257, 512, 1000] {
            let result = try state.run(
                "local n, sum = 0, 0 for r in maker:each(...) do n = n + 1 sum = sum + r.age end return n, sum",
                arguments: [.integer(Int64(count))])
            #expect(result == [.integer(Int64(count)), .integer(Int64(count * (count - 1) / 2))])
        }
        #expect(
            try state.run(
                "local ok, e = pcall(function() for r in maker:each(1001) do end end) return e.code"
            ) == ["broken"])
    }

    @Test func `frozen classes end with their last object`() throws {
        weak var gone: Rows?
        do {
            let frozen = Rows(rows.names)
            frozen.rows = [["name": "Old"]]
            gone = frozen
            let anchor = state.registerFrozen(frozen, like: rows)
            let sibling = Rows(rows.names)
            sibling.rows = [["name": "Sister"]]
            let same = state.registerFrozen(sibling, like: rows, sharing: frozen)
            state.globals["old"] = state.userdata(LuaLiveObject(type: frozen, key: 0))
            state.globals["sister"] = state.userdata(LuaLiveObject(type: sibling, key: 0))
            withExtendedLifetime((anchor, same)) {}
        }
        state.collectGarbage()
        #expect(
            try state.run("return old.name, sister.name, old == sister, old == old") == [
                "Old", "Sister", false, true,
            ])
        try state.run("old = nil")
        state.collectGarbage()
        state.collectGarbage()
        #expect(gone != nil)
        try state.run("sister = nil")
        for _ in 0..<3 { state.collectGarbage() }
        _ = try state.run("return 1")
        #expect(gone == nil)
    }

    /// Registers a class with one object, which the global `old` holds.
    private func registerOld() -> Rows {
        let new = Rows(["name"])
        new.rows = [["name": "Old"]]
        state.register(new, name: "Old", methods: rowMethods, properties: [("name", 0)])
        state.globals["old"] = state.userdata(LuaLiveObject(type: new, key: 0))
        return new
    }

    @Test func `a released class ends with its last object`() throws {
        weak var gone: Rows?
        weak var goneFrozen: Rows?
        do {
            let (old, frozen) = (registerOld(), Rows(["name"]))
            frozen.rows = [["name": "Older"]]
            (gone, goneFrozen) = (old, frozen)
            let anchor = state.registerFrozen(frozen, like: old)
            state.globals["older"] = state.userdata(LuaLiveObject(type: frozen, key: 0))
            withExtendedLifetime(anchor) { state.release(old) }
            #expect(state.userdata(LuaLiveObject(type: old, key: 0)) == .nil)
        }
        for _ in 0..<3 { state.collectGarbage() }
        #expect(
            try state.run("return old.name, older.name, old:key(), tostring(older)")
                == ["Old", "Older", 0, "Row 0"])
        try state.run("old = nil")
        for _ in 0..<3 { state.collectGarbage() }
        #expect(try state.run("return older.name, older:key()") == ["Older", 0])
        try state.run("older = nil")
        for _ in 0..<4 { state.collectGarbage() }
        _ = try state.run("return 1")
        #expect(gone == nil && goneFrozen == nil)
    }

    @Test func `an object that a finalizer keeps beyond its class is refused`() throws {
        try state.run("keeper = setmetatable({}, { __gc = function(t) kept = t.object end })")
        state.release(registerOld())
        try state.run("keeper.object, old, keeper = old, nil, nil")
        state.collectGarbage()
        let next = registerOld()  // uses the memory of the class that has ended
        let answer = try state.run("return old.name, pcall(function() return kept.name end)")
        #expect(answer.prefix(2) == ["Old", false])
        #expect("\(answer[2])".contains("already closed"))
        withExtendedLifetime(next) {}
    }

    @Test(arguments: [
        "debug.setmetatable(rex, nil) return rex.name",
        "debug.setmetatable(rex, {__index = function(t, k) return t[k] end}) return rex.name",
        "local m = debug.getmetatable(maker) debug.setmetatable(io.stdout, m) io.stdout:create('Row', {})",
        "local m = debug.getmetatable(rex) return m.__index(io.stdout, 'name')",
        "local m = debug.getmetatable(rex) return m.__index(maker, 'name')",
        "local m = debug.getmetatable(rex) return m.__index('x', 'name')",
        "local m = debug.getmetatable(rex) return m.__newindex(nil, 'name', 1)",
        "local m = debug.getmetatable(maker) m.__gc(maker) m.__gc(maker) return maker:create('Row', {name = 'x'})",
        "local m = debug.getmetatable(maker) m.__gc(maker) return maker[1]",
        "local m = debug.getmetatable(maker) m.__gc(rex) error('fine')",
        "debug.setupvalue(debug.getmetatable(rex).__index, 1, 5) return rex:key()",
        "debug.setupvalue(maker.create, 1, io.stdout) maker:create('Dog', {})",
        "local f = maker.each debug.setupvalue(f, 1, io.stdout) f(maker, 1)",
        "local f = maker:each(10) debug.setupvalue(f, 1, io.stdout) f()",
        "local f = maker:each(10) debug.setupvalue(f, 2, 5) local r = f() error(r.name)",
        "local r = debug.getregistry() for k in pairs(r) do if type(k) == 'number' and k > 2 then r[k] = nil end end local x = maker:create('Row', {name = 'y'}) error(tostring(x))",
        "return maker.creat",
        "maker.each = 1",
        "maker[1] = 2",
        "return rex.nope",
        "rex.nope = 1",
        "return rex[{}]",
        "rex[1] = 1",
        "rex.key()",
        "maker.each(rex, 1)",
    ])
    func `every invalid operation on a userdata is an error`(_ code: String) {
        do {
            try state.run(code)
            Issue.record("no error")
        } catch {
            #expect(!error.message.isEmpty)
        }
    }

    @Test func `members and similar names come from the declaration`() {
        #expect(Maker.type.members.map(\.name) == ["create", "each"])
        #expect(nearestName(to: "creat", in: ["create", "each"]) == "create")
        #expect(nearestName(to: "zzz", in: ["create", "each"]) == nil)
        #expect(nearestName(to: "sort", in: ["sum", "sorted", "sorted_by"]) == "sorted")
        #expect(nearestName(to: "so", in: ["sum1", "sorted"]) == nil)
        do {
            try state.run("return maker.creat")
        } catch {
            #expect(error.message.hasSuffix("maker has no member 'creat', did you mean 'create'?"))
        }
    }
}
