import MoonpoolScripting
import Synchronization
import TestThreads
import Testing

struct Parcel: Model {
    var id = 0
    var weight = 0
    static let options = ModelOptions<Parcel>(primaryKey: \.id)
}

extension ScriptEngine {
    /// Returns the code and the text of the error that Lua catches around these statements.
    func caught(_ code: String) async throws -> String {
        try await run(
            """
            local ok, err = pcall(function() \(code) end)
            return ok and 'no error' or tostring(err.code) .. ': ' .. tostring(err)
            """, as: String.self)
    }

    /// Registers `pass(gate)`, which waits until the gate is open, and `record(text)`.
    func add(_ gates: Gates) throws {
        try register("pass(gate)") { (name: String) async in await gates.wait(name) }
        try register("note(text)") { (text: String) in gates.record(text) }
    }
}

/// Async functions of scripts wait here until a test opens their gate.
final class Gates: Sendable {
    private struct State {
        var open: Set<String> = []
        var waiting: [String: [CheckedContinuation<Void, Never>]] = [:]
        var arrivals: [String] = []
        var notes: [String] = []
    }
    private let state = Mutex(State())

    var notes: [String] { state.withLock { $0.notes } }
    func record(_ text: String) { state.withLock { $0.notes.append(text) } }
    func hasArrived(_ name: String) -> Bool { state.withLock { $0.arrivals.contains(name) } }
    var arrivals: Int { state.withLock { $0.arrivals.count } }

    /// Waits until code waits at a gate.
    func arrival(at gate: String) async throws {
        #expect(try await eventually { hasArrived(gate) })
    }

    /// Waits for a note.
    func recorded(_ text: String) async throws {
        #expect(try await eventually { notes.contains(text) })
    }

    func wait(_ name: String) async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                state.arrivals.append(name)
                if state.open.contains(name) { return true }
                state.waiting[name, default: []].append(continuation)
                return false
            }
            if isOpen { continuation.resume() }
        }
    }

    func open(_ name: String) {
        let waiting = state.withLock { state in
            state.open.insert(name)
            return state.waiting.removeValue(forKey: name) ?? []
        }
        for continuation in waiting { continuation.resume() }
    }
}
