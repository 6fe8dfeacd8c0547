import Synchronization
import Testing

@testable import REPL

/// Two sessions in one script, as of two processes that have attached to it.
@Suite struct SharedScriptTests {
    private final class Shown: Sendable {
        let text = Mutex("")
        func add(_ more: String) { text.withLock { $0 += more } }
    }

    /// Runs entries of two sessions in turns, and returns what each has shown.
    private func shown(_ entries: [(first: String, second: String)]) throws -> (String, String) {
        let session = try TestSession()
        return try session.with { owner in
            let shown = [Shown(), Shown()]
            let sessions = shown.map {
                Session(
                    owner.context, style: .plain, output: SessionOutput(write: $0.add),
                    watchesCalls: false)
            }
            for (first, second) in entries {
                if !first.isEmpty { sessions[0].run(first) }
                if !second.isEmpty { sessions[1].run(second) }
            }
            return (shown[0].text.withLock { $0 }, shown[1].text.withLock { $0 })
        }
    }

    @Test func `a live expression belongs to the session that has begun it`() throws {
        let add = "store:write(function() store:create('Dog', { name = '' }) end) store:refresh()"
        let (first, second) = try shown([
            ("store:define { Dog = { name = 'string' } }", ""),
            (".live #store:objects 'Dog'", "1"), ("", add), (".live", ".live"),
            ("", ".live off"), ("", add),
        ])
        #expect(first.contains("= 0\n") && first.contains("= 1\n") && first.contains("= 2\n"))
        #expect(first.contains("1: #store:objects 'Dog'"))
        #expect(!second.contains("[live") && second.contains(".live takes an expression"))
        #expect(second.contains("there are no live expressions"))
    }

    @Test func `a tutorial continues when another session has ended its own`() throws {
        let (first, second) = try shown([
            (".tutorial", ""), ("", ".tutorial off"), ("6 * 7", "6 * 7"),
        ])
        #expect(first.contains("2/10") && !first.contains("attempt to"), "\(first)")
        #expect(!second.contains("/10"), "\(second)")
    }
}
