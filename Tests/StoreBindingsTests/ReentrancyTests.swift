import LuaHost
import TestSupport
import TestThreads
import Testing

/// Every kind of Lua code that a store operation runs, performing every kind of store operation.
@Suite struct ReentrancyTests {
    private let session: Session

    init() throws {
        session = try Session()
        let session = session
        session.state.globals["faults"] = .function(
            session.state.makeFunction("faults") { [unowned session] call in
                var faults: [String] = []
                for store in session.module.openStores where !store.isInWrite {
                    faults += try store.verify().map(\.description)
                }
                return call.answer(.text(faults.joined(separator: "; ")))
            })
        try session.run(
            """
            local own = tostring(store):match "session %d+"
            function options_of(n) return { in_memory = own .. " store " .. n } end
            """)
        try session.run(CallbackMatrix.source)
    }

    private static let callbacks = [
        "default_create", "default_nested", "default_upsert", "default_assign", "default_embedded",
        "default_element", "default_insert", "default_append", "default_entry", "default_update",
        "default_add", "write", "each", "pairs", "list_pairs", "map_pairs", "mixed_pairs", "filter",
        "map", "observer", "list_observer", "object_observer", "value_observer",
        "sections_observer", "store_observer", "queued", "queued_error", "migration",
        "migration_each", "values_index", "values_name", "finalizer", "closing", "coroutine",
        "should_compact",
    ]

    @Test(arguments: callbacks)
    func `No store operation in a callback crashes the program or damages a store`(
        callback: String
    ) throws {
        // Errors of observers are reported, not thrown; here they are expected.
        let ran = try session.run(
            "return matrix('\(callback)', \(RandomSeeds.count(3, of: 1)))"
        ).first?.integer
        // Metamethods of values are never called.
        #expect((ran ?? 0 > 0) == !callback.hasPrefix("values_"))
    }

    @Test func `The list of callbacks is complete`() {
        session.expect(
            """
            local known = { \(Self.callbacks.map { "\($0) = true" }.joined(separator: ", ")) }
            for name in pairs(callbacks) do assert(known[name], name) end
            """)
    }

    @Test func `A default function that ignores the error of a write changes nothing`() {
        session.expect(
            """
            local s = fresh()
            for name, operation in pairs(operations) do
                if name ~= "queue" and name ~= "turn" then
                    s:define { Q = { { "id", "int primary" }, { "x", { type = "int", default = function() pcall(operation, s) return 5 end } } } }
                    local before = #s:objects "A"
                    s:write(function() assert(s:create("Q", { id = 1 }).x == 5) end)
                    assert(#s:objects "Q" == 1 and #s:objects "A" == before and not s.is_in_write, name)
                    s:write(function() s:delete_all "Q" end)
                end
            end
            assert(faults() == "")
            """)
    }
}
