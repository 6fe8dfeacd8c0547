import FoundationEssentials
import MoonpoolScripting
import Synchronization
import Testing

private struct Pet: Model {
    var name = ""
    var age = 0
    var tags: Set<String> = []
    var marks: [Int] = []
    var notes: [String: String] = [:]
    var friends: [Link<Pet>] = []
}
private struct Price: Codable, Sendable { var cents = 0 }
private final class Box: ScriptObject {
    static let scriptClass = ScriptClass<Box>(
        "Box",
        [
            .new("Box(size)") { (size: Int) in Box() },
            .method("put(pet, count)") { (box: Box, name: String, count: Int?) in },
            .method("take()") { (box: Box) -> [String] in [] },
            .property("isFull") { _ in false },
        ])
}

@Suite struct StubTests {
    private func stubs(_ prepare: (ScriptEngine) async throws -> Void) async throws -> String {
        let engine = try ScriptEngine(.sandboxed(limits: .none), state: 0)
        try await prepare(engine)
        let stubs = try await engine.stubs()
        // The file is valid Lua, regardless of its comments.
        try engine.set("text", to: stubs)
        #expect(try await engine.run("return select(2, load(text))", as: String?.self) == nil)
        await engine.close()
        return stubs
    }

    @Test func `functions are declared with their parameters' and results' types`() async throws {
        let stubs = try await stubs { engine in
            try engine.register("add(a, b)") { (a: Int, b: Int?) in a + (b ?? 0) }
            try engine.register("shop.tax.of(price)") { (price: ScriptCoded<Price>) async in
                Date()
            }
            try engine.register("unnamed") { (call: ScriptCall<Int>, a: [String], b: Double) in }
            try engine.register("oldest(pets)") { (pets: Results<Pet>) in pets.first }
            try engine.register("tag(tags, notes)") {
                (tags: LiveSet<String>, notes: LiveMap<String>) -> [String: [Int?]] in [:]
            }
        }
        for declaration in [
            """
            ---@param a integer
            ---@param b integer?
            ---@return integer
            function add(a, b) end
            """,
            "shop = {}\n\nshop.tax = {}\n",
            """
            ---@param price table
            ---@return moonpool.Date
            function shop.tax.of(price) end
            """,
            """
            ---@param arg1 string[]
            ---@param arg2 number
            function unnamed(arg1, arg2) end
            """,
            """
            ---@param pets moonpool.Results<Pet>
            ---@return Pet?
            function oldest(pets) end
            """,
            """
            ---@param tags moonpool.Set<string>
            ---@param notes moonpool.Map<string>
            ---@return table<string, (integer|nil)[]>
            function tag(tags, notes) end
            """,
        ] {
            #expect(stubs.contains(declaration), "\(declaration)")
        }
        #expect(stubs.contains("function moonpool.open("))
        #expect(stubs.hasSuffix("\nreturn moonpool\n"))
    }

    @Test func `classes, stores and globals are declared`() async throws {
        let stubs = try await stubs { engine in
            try engine.register(Box.self)
            try await engine.open(.memory("stub pets"), models: Pet.self, as: "zoo")
            try engine.register(Pet.self) { pet in
                pet.method("years(factor)") { (pet: Live<Pet>, factor: Int?) in pet.age }
                pet.property("isOld") { pet in pet.age > 10 }
                pet.function("named(name)") { (name: String) in name }
            }
            try engine.set("app.limit", to: 1.5)
            try engine.set("app.price", encoding: Price())
        }
        for declaration in [
            """
            ---@class Box
            ---@field put fun(self: Box, pet: string, count: integer?)
            ---@field take fun(self: Box): string[]
            ---@field isFull boolean

            ---@class Box.Class
            ---@field new fun(size: integer): Box
            ---@overload fun(size: integer): Box
            Box = {}
            """,
            "---@class Pet: moonpool.Object\n---@field name string",
            """
            ---@class Pet: moonpool.Object
            ---@field years fun(self: Pet, factor: integer?): integer
            ---@field isOld boolean

            Pet = {}

            ---@param name string
            ---@return string
            function Pet.named(name) end
            """,
            "---@type moonpool.Store\nzoo = nil\n",
            "---@type number\napp.limit = nil\n",
            "---@type table\napp.price = nil\n",
        ] {
            #expect(stubs.contains(declaration), "\(declaration)")
        }
    }
}

@Suite struct CollectionArgumentTests {
    @Test func `lists, sets and maps are changed in place and returned`() async throws {
        let engine = try ScriptEngine(.sandboxed(limits: .none))
        try await engine.open(.memory("stub pets"), models: Pet.self)
        try engine.register("edit(marks, tags, notes, friends)") {
            (
                marks: LiveList<Int>, tags: LiveSet<String>, notes: LiveMap<String>,
                friends: LiveList<Link<Pet>>
            ) in
            marks.append(7)
            tags.insert("good")
            notes["food"] = "dry"
            return friends
        }
        try engine.register("same(tags)") { (tags: LiveSet<String>) in tags }
        try engine.register("map(notes)") { (notes: LiveMap<String>) in notes }
        let seen: String = try await engine.run(
            """
            rex = store:write(function()
              local rex = store:create('Pet', { name = 'Rex', marks = { 1 } })
              friends = edit(rex.marks, rex.tags, rex.notes, rex.friends)
              friends:append(rex)
              return rex
            end)
            return table.concat({ rex.marks[2], tostring(rex.tags:contains 'good'), rex.notes.food,
              rex.friends[1].name, #same(rex.tags), map(rex.notes).food }, ' ')
            """)
        #expect(seen == "7 true dry Rex 1 dry")
    }

    @Test(arguments: [
        ("marks({ 1 })", "list expected, got table"),
        ("marks(rex.tags)", "list expected, got set"),
        ("marks(rex.friends)", "list expected, got 'friends' is Pet[], not int[]"),
        ("marks(store:freeze():objects('Pet')[1].marks)", "list expected, got a frozen one"),
        ("id(rex.marks)", "Pet expected, got list"),
    ])
    func `a collection of another type is refused`(call: String, message: String) async throws {
        let engine = try ScriptEngine(.sandboxed(limits: .none))
        try await engine.open(.memory("stub pets"), models: Pet.self)
        try engine.register("marks(list)") { (list: LiveList<Int>) in list.count }
        try engine.register("id(pet)") { (pet: ObjectID<Pet>) in pet }
        let seen: String = try await engine.run(
            """
            rex = store:write(function() return store:create('Pet', { name = 'Rex' }) end)
            local ok, err = pcall(function() return \(call) end)
            return err.code .. ': ' .. err.message
            """)
        #expect(seen.drop { $0 != "(" } == "(\(message))")
        #expect(seen.hasPrefix("invalid_argument: bad argument #1 "))
    }

    @Test func `an asynchronous function takes and returns an identifier`() async throws {
        let engine = try ScriptEngine(.sandboxed(limits: .none))
        try await engine.open(.memory("stub pets"), models: Pet.self)
        let ids = Mutex<[ObjectID<Pet>]>([])
        try engine.register("pass(pet)") { (pet: ObjectID<Pet>) async -> ObjectID<Pet>? in
            ids.withLock { $0.append(pet) }
            return pet
        }
        let isSame: Bool = try await engine.run(
            """
            local rex = store:write(function() return store:create('Pet', { name = 'Rex' }) end)
            return pass(rex) == rex
            """)
        #expect(isSame && ids.withLock { $0.count } == 1)
    }
}
