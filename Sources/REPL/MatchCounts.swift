import Synchronization

/// The number of matches of the query at the cursor.
///
/// The terminal thread requests the number, and the script's thread computes it.
final class MatchCounts: Sendable {
    private struct State {
        var text = ""
        var hint: String?
    }

    private let state = Mutex(State())

    /// Returns whether a text can end in a query, without parsing it.
    static func canCount(_ text: String) -> Bool {
        text.contains("where") && (text.hasPrefix(".") || text.contains { "\"'[".contains($0) })
    }

    /// Requests the count for a text; returns false if the text is already the requested one.
    func request(_ text: String) -> Bool {
        state.withLock { state in
            guard state.text != text else { return false }
            state = State(text: text)
            return true
        }
    }

    /// Returns whether a text is the one requested last.
    func isNewest(_ text: String) -> Bool { state.withLock { $0.text == text } }

    /// Returns the answer for a text; nil until it arrives.
    func hint(for text: String) -> String? {
        state.withLock { $0.text == text ? $0.hint : nil }
    }

    /// Records the count for a text.
    func answer(_ text: String, _ hint: String?) {
        state.withLock { if $0.text == text { $0.hint = hint } }
    }
}
