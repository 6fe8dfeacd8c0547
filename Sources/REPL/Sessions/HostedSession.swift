import EventLoops
import LineEditing
import LuaHost
import ScriptHost
import Synchronization
import SystemCalls

// A prompt without a terminal, such as the console of a page in the browser. The host is a script in Lua, which receives
// entries and shows their output.

/// Runs entries for a host in the same script, and keeps what they and the script write until the host takes it.
package final class HostedSession: Sendable {
    /// The origin of a text.
    package enum Kind: String {
        /// The script has printed it.
        case output
        /// The session has printed it: a result, or the error of an entry.
        case result
        /// An error of an observer or a timer.
        case error
    }

    private struct Part {
        let kind: Kind
        /// The observer or timer that has written the text; empty for the entry itself.
        let source: String
        var text: String
    }

    private struct State {
        var isOpen = false
        var isRunning = false
        var session: LoopBound<Session>?
        var entry: String?
        var source = ""
        var parts: [Part] = []
        var size = 0
        var omitted = 0
    }

    private let state = Mutex(State())
    /// A script that prints in a loop must not exhaust the memory.
    private static let maxBytes = 256 << 10

    package init() {}

    /// Whether there are texts that the host has not taken.
    package var hasOutput: Bool { state.withLock { !$0.parts.isEmpty } }

    /// Keeps a text for the host; before `open`, writes it to standard error.
    package func write(_ text: String, as kind: Kind) {
        if state.withLock({ $0.isOpen }) {
            keep(text, as: kind)
        } else {
            ProcessServices.writeError(text)
        }
    }

    private func keep(_ text: String, as kind: Kind) {
        state.withLock { state in
            guard state.size + text.utf8.count <= Self.maxBytes else {
                state.omitted += 1
                return
            }
            state.size += text.utf8.count
            if let last = state.parts.last, last.kind == kind, last.source == state.source {
                state.parts[state.parts.count - 1].text += text
            } else {
                state.parts.append(Part(kind: kind, source: state.source, text: text))
            }
        }
    }

    /// Keeps all further output for the host.
    package func open() { state.withLock { $0.isOpen = true } }

    /// Adds the functions of the session to the table of the host: `evaluate`, which runs an entry as soon as the host has
    /// returned, `record`, which adds code for `.save`, `is_unfinished`, `complete` and `take_output`; and the store of the
    /// session as `store`.
    ///
    /// `watchesCalls`: whether the output of observers and timers has their names.
    package func addFunctions(to host: LuaTable, _ context: ScriptContext, watchesCalls: Bool) {
        let lua = context.state
        let session = Session(
            context, style: Style(isColored: false), window: (columns: 100, rows: 24),
            output: SessionOutput(
                write: { [weak self] in self?.keep($0, as: .result) },
                label: { [weak self] label in
                    let name = String(label.drop { $0 == "[" }.prefix { $0 != "]" })
                    self?.state.withLock { $0.source = name }
                }), watchesCalls: watchesCalls)
        let bound = LoopBound(session, on: context.loop)
        state.withLock { $0.session = bound }
        host["store"] = session.store.map(context.storeModule.value(of:)) ?? .nil
        host["evaluate"] = .function(
            lua.makeFunction("evaluate") { [weak self] call in
                let entry = try call.text(1)
                self?.state.withLock { $0.entry = entry }
                return .none
            })
        host["record"] = .function(
            lua.makeFunction("record") { call in
                session.steps.append(SessionStep("code", try call.text(1)))
                return .none
            })
        host["is_unfinished"] = .function(
            lua.makeFunction("is_unfinished") { call in
                let status = EntryCompiler().status(of: try call.text(1))
                return call.answer(.boolean(status == .incomplete))
            })
        host["complete"] = .function(
            lua.makeFunction("complete") { call in
                let completion = session.completion(of: try call.text(1))
                let table = lua.makeTable()
                table["replacing"] = .integer(Int64(completion?.replacing ?? 0))
                table["candidates"] = .table(
                    lua.makeTable((completion?.candidates ?? []).prefix(60).map { .text($0) }))
                return call.answer(.table(table))
            })
        host["take_output"] = .function(
            lua.makeFunction("take_output") { [weak self] call in
                call.answer(
                    .table(
                        lua.makeTable(
                            (self?.take() ?? []).map { part in
                                let table = lua.makeTable(fields: 3)
                                table["kind"] = .text(part.kind.rawValue)
                                if !part.source.isEmpty { table["source"] = .text(part.source) }
                                table["text"] = .text(part.text)
                                return .table(table)
                            })))
            })
    }

    /// Runs the entry that the host has passed to `evaluate`, if any, and passes its success to `finish`.
    ///
    /// Call it outside of Lua code: a stop ends all code that is running.
    package func runEntry(_ context: ScriptContext, finish: LuaFunction?) {
        let (entry, session) = state.withLock { ($0.entry.take(), $0.session) }
        guard let entry, let session = session?.value else { return }
        state.withLock { $0.isRunning = true }
        defer { state.withLock { $0.isRunning = false } }
        if state.withLock({ $0.isOpen }) {
            session.run(entry)
        } else {
            // The script prints elsewhere.
            context.whilePrinting({ [self] in keep($0, as: .output) }) { session.run(entry) }
        }
        context.attachedEntryHasEnded()
        guard let finish else { return }
        context.callback("console", finish, [.boolean(!session.hasFailed)])
    }

    /// Stops the running entry; other code of the script is not affected.
    ///
    /// Usable on any thread.
    func stopEntry(of script: Script) {
        // Until the lock is free, the entry cannot end, so that no other code begins.
        state.withLock { if $0.isRunning { script.stopHandler() } }
    }

    private func take() -> [Part] {
        state.withLock { state in
            var parts = state.parts
            assert(
                parts.reduce(0) { $0 + $1.text.utf8.count } == state.size,
                "the size is that of the kept texts")
            if state.omitted > 0 {
                let text = "… \(state.omitted) more lines\n"
                parts.append(Part(kind: .output, source: "", text: text))
            }
            (state.parts, state.size, state.omitted) = ([], 0, 0)
            return parts
        }
    }
}
