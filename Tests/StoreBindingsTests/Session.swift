import LuaHost
import ObjectStore
import Reference
import StoreBindings
import Synchronization
import Testing

/// A loop that runs when the test requests it.
final class ManualScheduler: Scheduler {
    private let handlers = Mutex<[Int: Entry]>([:])
    private let last = Mutex(0)

    private struct Entry: @unchecked Sendable {  // because one thread uses it
        let handler: () -> Void
        var isDue = false
    }

    final class ManualWakeup: Wakeup {
        let scheduler: ManualScheduler
        let number: Int
        init(_ scheduler: ManualScheduler, _ number: Int) {
            self.scheduler = scheduler
            self.number = number
        }
        func wake() { scheduler.handlers.withLock { $0[number]?.isDue = true } }
        func cancel() { scheduler.handlers.withLock { $0[number] = nil } }
    }

    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup {
        let number = last.withLock {
            $0 += 1
            return $0
        }
        let entry = Entry(handler: handler)
        handlers.withLock { $0[number] = entry }
        return ManualWakeup(self, number)
    }

    var isOnThread: Bool { true }
    var canDeliver: Bool { true }

    /// Runs pending callbacks until there are none.
    func turn() {
        for _ in 0..<1000 {
            let due = handlers.withLock { entries in
                let due = entries.filter(\.value.isDue).sorted { $0.key < $1.key }
                for (number, _) in due { entries[number]?.isDue = false }
                return due.map(\.value)
            }
            if due.isEmpty { return }
            for entry in due { entry.handler() }
        }
    }
}

/// A script without a loop thread: a state, the module, and an in-memory store called `store`.
final class Session: BindingHost {
    final class Hold: BindingHold {
        weak var session: Session?
        init(_ session: Session) { self.session = session }
        func release() {
            session?.holds -= 1
            session = nil
        }
        deinit { release() }
    }

    let manual = ManualScheduler()
    let state = LuaState()
    private(set) var module: StoreModule!
    var holds = 0
    var hints: [String] = []
    var reports: [(message: String, observer: String)] = []
    static let count = Atomic<Int>(0)

    var scheduler: any Scheduler { manual }
    func hold() -> any BindingHold {
        holds += 1
        return Hold(self)
    }
    func report(_ error: any Error, from observer: String, token: LuaValue) {
        reports.append(((error as? LuaError)?.message ?? "\(error)", observer))
    }
    func didOpen(_ store: Store) {}
    func didClose(_ store: Store) {}
    func hint(_ text: String) { hints.append(text) }

    static let schema = """
        Dog = {
            id = "int primary", name = "string", age = "int?", score = "double", good = "bool",
            born = "date?", tag = "uuid?", raw = "data?", weight = "float?", code = "object_id?",
            owner = "Person", toys = "Toy[]", marks = "int[]", notes = "string?[]",
            breed = { type = "string", indexed = true, default = "mutt" },
        },
        Person = { name = "string primary", dogs = "Dog[]", owned = "backlinks Dog.owner" },
        Toy = { { "label", "string" }, { "price", "double" } },
        """

    init(_ schema: String = Session.schema) throws {
        state.usage = HelpCatalog.usage
        module = StoreModule(state: state, host: self)
        state.globals["moonpool"] = .table(module.table)
        let manual = manual
        state.globals["turn"] = .function(
            state.makeFunction("turn") { _ in
                manual.turn()
                return .none
            })
        let number = Self.count.add(1, ordering: .relaxed).newValue
        try run(
            """
            function code(f, ...)
                local ok, err = pcall(f, ...)
                if ok then return "no error" end
                return type(err) == "userdata" and err.code or err
            end
            function message(f, ...)
                local ok, err = pcall(f, ...)
                if ok then return "no error" end
                return type(err) == "userdata" and err.message or err
            end
            function same(a, b)
                if #a ~= #b then return false end
                for i = 1, #a do if a[i] ~= b[i] then return false end end
                return true
            end
            store = moonpool.open { in_memory = "session \(number)", schema = { \(schema) } }
            function dog(values)
                local all = { id = 1, name = "Rex", score = 0, good = true }
                for k, v in pairs(values or {}) do all[k] = v end
                return store:write(function() return store:create("Dog", all) end)
            end
            """)
    }

    deinit {
        module.close()
        state.close()
    }

    @discardableResult
    func run(_ code: String) throws(LuaError) -> [LuaValue] {
        try state.run(code, name: "@test.lua")
    }

    /// Runs a chunk that contains assertions.
    func expect(_ code: String, sourceLocation: SourceLocation = #_sourceLocation) {
        do {
            try run(code)
        } catch {
            Issue.record(
                "\(error.message)\n\(error.traceback ?? "")", sourceLocation: sourceLocation)
        }
        for report in reports {
            Issue.record("\(report.observer): \(report.message)", sourceLocation: sourceLocation)
        }
        reports = []
    }
}
