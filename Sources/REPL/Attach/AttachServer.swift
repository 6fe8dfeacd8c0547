import EventLoops
import LuaHost
import ScriptHost
import Synchronization
import SystemCalls

// Allows other processes of the same user to inspect a running script: `moonpool --attachable`, `moonpool attach`.
//
// Threads: one thread waits for connections, and one thread reads from each connection. Entries run on the script's own
// thread, between its callbacks, so that an attached user sees what an observer would see. A stop takes effect
// immediately.

/// A prompt inside a running script, for clients that connect to its socket.
package final class AttachServer: Sendable {
    private let listener: LocalListener
    private let connections = Atomic<Int>(0)
    private let announce: (@Sendable (String) -> Void)?
    private static let maxConnections = 8

    /// Returns the default path of a process's socket.
    package static func path(of process: Int32) throws(LoopError) -> String {
        try ProcessServices.socketFolder() + "/\(process).sock"
    }

    /// Creates the socket, at this path or at the default path of this process.
    ///
    /// `announce` receives the texts of clients that are for the owner of the socket.
    package init(
        at path: String?, announce: (@Sendable (String) -> Void)? = nil
    ) throws(LoopError) {
        self.announce = announce
        var own = path ?? ""
        if path == nil { own = try Self.path(of: ProcessServices.identifier) }
        listener = try LocalListener(path: own)
    }

    /// Lets clients attach to these scripts from now on; each client names the script.
    package func serve(_ scripts: [(name: String, script: Script)]) throws(LoopError) {
        let choice = AttachChoice(scripts)
        _ = try LoopThread(name: "attach") { [self] _ in
            while let socket = listener.accept() { serve(socket, choice) }
        }
    }

    /// Removes the socket.
    package func end() { listener.end() }

    private func serve(_ socket: LocalSocket, _ choice: AttachChoice) {
        func refuse(_ reason: String) {
            socket.write(AttachFrame(.end, reason).bytes)
            socket.end()
        }
        guard socket.isOfThisUser else { return refuse("this script belongs to another user") }
        let number = connections.add(1, ordering: .relaxed).newValue
        guard number <= Self.maxConnections else {
            connections.subtract(1, ordering: .relaxed)
            return refuse("too many clients are attached")
        }
        do throws(LoopError) {
            _ = try LoopThread(name: "attached") { _ in
                AttachConnection(socket, choice, self.announce).run()
                assert(self.connections.load(ordering: .relaxed) > 0, "a client detaches once")
                self.connections.subtract(1, ordering: .relaxed)
            }
        } catch {
            connections.subtract(1, ordering: .relaxed)
            refuse("\(error)")
        }
    }
}

/// An attached client.
private final class AttachConnection: Sendable {
    private let socket: LocalSocket
    private let choice: AttachChoice
    private let session = Mutex<LoopBound<Session>?>(nil)
    private let program = GuestProgram(isOwner: false)

    private let announce: (@Sendable (String) -> Void)?

    init(
        _ socket: LocalSocket, _ choice: AttachChoice, _ announce: (@Sendable (String) -> Void)?
    ) {
        self.socket = socket
        self.choice = choice
        self.announce = announce
    }

    /// Reads until either side ends.
    func run() {
        var reader = AttachFrameReader()
        var chosen: Script?
        defer { if let chosen { program.end(in: chosen) } }
        while true {
            let bytes = socket.read()
            if bytes.isEmpty { return }
            guard let frames = try? reader.take(bytes) else {
                return Self.end(socket, "the request is not valid")
            }
            for frame in frames {
                switch (frame.kind, chosen) {
                case (.hello, nil):
                    let words = frame.text.split(separator: " ", maxSplits: 1).map(String.init)
                    let (script, remark) = choose(words.count > 1 ? words[1] : nil)
                    guard let script else { return }
                    chosen = script
                    if let remark { socket.write(AttachFrame(.output, remark).bytes) }
                    begin(script, columns: words.first.flatMap { Int($0) } ?? 80)
                case (.program, nil):
                    guard let script = choose(nil).0 else { return }
                    chosen = script
                    start(frame.text, script)
                case (.message, let script?):
                    let parts = frame.text.split(separator: " ", maxSplits: 1)
                    guard let page = parts.first.flatMap({ Int64($0) }) else { break }
                    guard page != 0 else {
                        if parts.count > 1 { announce?(String(parts[1])) }
                        break
                    }
                    program.receive(
                        parts.count > 1 ? Array(parts[1].utf8) : nil, from: page, in: script)
                case (.entry, let script?): run(frame.text, script)
                case (.stop, let script?): script.stopHandler()
                case (.complete, let script?): complete(frame.text, script)
                default: return Self.end(socket, "the request is not valid")
                }
            }
        }
    }

    /// Returns the script with a name or a number; ends the connection if there is none.
    private func choose(_ wanted: String?) -> (Script?, remark: String?) {
        do throws(AttachChoice.NoScript) {
            let (script, remark) = try choice.script(wanted)
            script.whenEnded { [weak socket] _ in
                socket.map { Self.end($0, "the script has ended") }
            }
            return (script, remark)
        } catch {
            Self.end(socket, error.reason)
            return (nil, nil)
        }
    }

    /// Runs the studio; its options are pairs of texts, separated by zero bytes.
    private func start(_ text: String, _ script: Script) {
        let words = text.split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
        var options: [String: String] = [:]
        for index in stride(from: 0, to: words.count - 1, by: 2) {
            options[words[index]] = words[index + 1]
        }
        script.post { [self, options] context in
            do {
                try program.start(options, in: context) { [socket] page, text in
                    let text = "\(page) " + String(decoding: text, as: UTF8.self)
                    socket.write(AttachFrame(.message, text).bytes)
                }
                socket.write(AttachFrame(.prompt).bytes)
            } catch {
                Self.end(socket, (error as? LuaError)?.message ?? "\(error)")
            }
        }
    }

    private static func end(_ socket: LocalSocket, _ reason: String) {
        socket.write(AttachFrame(.end, reason).bytes)
        socket.end()
    }

    private func begin(_ script: Script, columns: Int) {
        script.post { [self] context in
            let output = SessionOutput { [socket] text in
                socket.write(AttachFrame(.output, text).bytes)
            }
            // A prompt at this script's own terminal continues to name the origin of output.
            let session = Session(
                context, style: Style(isColored: false),
                window: (columns: min(max(columns, 20), 1000), rows: 24), output: output,
                watchesCalls: !context.configuration.isInteractive)
            let bound = LoopBound(session, on: context.loop)
            self.session.withLock { $0 = bound }
            socket.write(AttachFrame(.prompt, session.prompt).bytes)
        }
    }

    private func complete(_ text: String, _ script: Script) {
        script.post { [self] _ in
            let completion = session.withLock { $0 }?.value.completion(of: text)
            socket.write(AttachFrame(.completions, completion?.text ?? "").bytes)
        }
    }

    private func run(_ entry: String, _ script: Script) {
        script.post { [self] context in
            guard let session = session.withLock({ $0 })?.value else { return }
            context.whilePrinting({ [socket] text in
                socket.write(AttachFrame(.output, text).bytes)
            }) {
                session.run(entry)
            }
            context.attachedEntryHasEnded()
            if session.hasFailed { socket.write(AttachFrame(.failed).bytes) }
            if session.wantsToEnd { return Self.end(socket, "") }
            socket.write(AttachFrame(.prompt, session.prompt).bytes)
        }
    }
}
