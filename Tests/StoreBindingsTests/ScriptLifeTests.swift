import Foundation
import LuaHost
import ObjectStore
import StoreBindings
import Testing

/// What only Swift sees of a script: which values keep it running, which objects it frees, and what the prompt reads.
///
/// The behavior of the Lua API is specified in `Tests/Specifications`.
@Suite struct ScriptLifeTests {
    let session: Session
    init() throws { session = try Session() }

    @Test(arguments: [
        ("token = dog().toys:observe(print) turn()", 1),
        (
            "rex = dog() token = rex.toys:observe(print) turn() store:write(function() store:delete(rex) end) turn()",
            0
        ),
        ("token = store:objects 'Dog':observe(print) turn() token:invalidate()", 0),
        ("store:objects 'Dog':observe(print) collectgarbage() collectgarbage()", 0),
        ("rex = dog() effect = moonpool.effect(function() return rex.age end)", 1),
        (
            "rex = dog() moonpool.effect(function() return rex.age end) collectgarbage() collectgarbage()",
            1
        ),
        ("rex = dog() do local e <close> = moonpool.effect(function() return rex.age end) end", 0),
        ("rex = dog() effect = moonpool.effect(function() return rex.age end) effect:dispose()", 0),
        ("effect = moonpool.effect(function() end)", 0),
        (
            """
            rex = dog()
            outer = moonpool.effect(function()
                moonpool.effect(function() return rex.name end)
                return function() return rex.age end
            end)
            outer:dispose()
            """, 0
        ),
        (
            """
            rex = dog()
            effect = moonpool.effect(function() if rex.age then error "two" end end)
            store:write(function() rex.age = 2 end)
            turn()
            """, 1
        ),
        ("store:write_async(function() end)", 1),
        ("store:write_async(function() end) turn()", 0),
        ("store:write_async(function() error 'no' end, function() end) turn()", 0),
        ("store:write_async(function() end, function() end) store:close() turn()", 0),
    ])
    func `observers, effects and queued writes keep a script running until they end`(
        code: String, holds: Int
    ) {
        _ = try? session.run("local print = function() end " + code)
        #expect(session.holds == holds)
    }

    @Test func `a closed store is released with its last object`() {
        session.expect(
            """
            other = moonpool.open { in_memory = "released", schema = { Dog = { name = "string" } } }
            rex = other:write(function() return other:create("Dog", { name = "Rex" }) end)
            tim, dogs = rex:freeze(), other:objects "Dog"
            """)
        weak let store = session.module.openStores.last
        #expect(store != nil && session.module.openStores.count == 2)
        session.expect("other:close() other, rex, tim, dogs = nil")
        session.expect("for i = 1, 4 do collectgarbage() end")
        #expect(store == nil)
    }

    @Test func `a token names what it observes`() {
        session.expect(
            """
            ann = dog { owner = { name = "Ann" } }.owner
            tokens = { ann.dogs:observe(print), ann.owned:observe(print) }
            """)
        #expect(
            session.module.activeTokens.map(\.subject) == [
                "Person.dogs", "Dog linking to an object",
            ])
    }

    @Test func `the examples of the article on observing print what they show`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/ObjectStore/ObjectStore.docc/Observing.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let blocks = text.matches(of: /```lua\n([\s\S]*?)```/).map { String($0.1) }
        #expect(!blocks.isEmpty)
        for block in blocks {
            let shown = block.matches(of: /--> (.*)/).map { String($0.1) }
            let code = block.replacing("moonpool.sleep(0)", with: "turn()")
            session.expect(
                "moonpool.wait_until = function(holds) repeat turn() until holds() return true end "
                    + "local shown = {} local function print(v) shown[#shown + 1] = tostring(v) end "
                    + code
                    + " shown = table.concat(shown, '|') assert(shown == '\(shown.joined(separator: "|"))', shown)"
            )
        }
    }

    @Test func `the prompt reads the type and the members of a value`() throws {
        try session.run("rex = dog() dogs = store:objects('Dog')")
        let values = try session.run("return rex, dogs, rex.marks, store, moonpool.date(0), 5")
        let kinds = values.map { value in
            switch session.module.inspect(value) {
            case .object(let object): object.classSchema.name
            case .results: "results"
            case .sections: "sections"
            case .nested: "nested"
            case .collection(let collection): collection.property.name
            case .values: "values"
            case .projection: "projection"
            case .projectedResults: "projections"
            case .store: "store"
            case .text(let text): text
            case .token: "token"
            case nil: "nothing"
            }
        }
        #expect(kinds == ["Dog", "results", "marks", "store", "1970-01-01T00:00:00Z", "nothing"])
        #expect(session.module.members(of: values[0]).map(\.name).contains("breed"))
        #expect(session.module.members(of: values[1]).map(\.name).contains("where"))
    }

    @Test func `all resources of a script end with it`() throws {
        weak var module: StoreModule?
        weak var store: Store?
        weak var state: LuaState?
        do {
            let session = try Session()
            try session.run(
                "dog { owner = { name = 'Ann' } } t = store:objects('Dog'):observe(print) f = store:objects('Dog'):freeze() x = f[1]"
            )
            module = session.module
            store = session.module.openStores.first
            state = session.state
        }
        #expect(module == nil)
        #expect(store == nil)
        #expect(state == nil)
    }
}
