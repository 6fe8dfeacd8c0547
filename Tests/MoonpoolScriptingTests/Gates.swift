import Synchronization

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
    func note(_ text: String) { state.withLock { $0.notes.append(text) } }
    func hasArrived(_ name: String) -> Bool { state.withLock { $0.arrivals.contains(name) } }
    var arrivals: Int { state.withLock { $0.arrivals.count } }

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
