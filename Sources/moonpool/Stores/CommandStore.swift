import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore

/// Stores as the commands open them.
enum CommandStore {
    /// Opens a store on this thread, which observes nothing.
    ///
    /// Throws `invalid_argument` for a file to be read that does not exist.
    static func open(_ path: String, isReadOnly: Bool) throws -> Store {
        if isReadOnly, ProcessServices.read(path, limit: 1) == nil {
            throw StoreError(.invalidArgument, "there is no store '\(path)'")
        }
        return try Store(
            StoreConfiguration(.file(path), isReadOnly: isReadOnly), scheduler: UnwokenThread())
    }

    /// A store that is gone with the command, for trying what would happen.
    static func openInMemory() throws -> Store {
        try Store(StoreConfiguration(.memory("dry run")), scheduler: UnwokenThread())
    }
}

/// What Ctrl-C does to a command on files: ends it at once.
///
/// Nothing has to be undone: an open write transaction of a process that ends is as if it had never been, and files
/// appear under their names when they are whole. Only what was written of them goes.
enum CommandInterruption {
    /// From here on; before the first thread is started.
    static func begin() {
        ProcessServices.onTermination { signal in
            // The message first: once files are removed, the process must not find the time to make more.
            ProcessServices.writeError("moonpool: interrupted\n")
            UnfinishedFiles.remove()
            StoreFiles.removeUnfinishedCopies()
            ProcessServices.exitNow(128 + signal)
        }
    }
}

/// A thread without a loop.
private struct UnwokenThread: Scheduler {
    private struct Never: Wakeup {
        func wake() {}
        func cancel() {}
    }

    // A command's store never leaves the main thread.
    var isOnThread: Bool { true }
    var canDeliver: Bool { false }
    func isSame(as other: any Scheduler) -> Bool { other is UnwokenThread }
    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup { Never() }
}

/// Errors of commands.
enum CommandFailure {
    /// Runs the work; an error is a line on standard error and exit code 1.
    static func shown<Result>(_ work: () throws -> Result) throws -> Result {
        let message: String
        do {
            return try work()
        } catch let error as StoreError {
            message = error.message
        } catch let error as FormatError {
            message = error.description
        }
        ProcessServices.writeError("moonpool: \(message)\n")
        throw ExitCode(1)
    }
}

/// A line that tells how far long work has come, on terminals only.
final class ProgressLine {
    private let verb: String
    private let isShown = ProcessServices.isTerminal(2)
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private var last: ContinuousClock.Instant
    private var isDrawn = false

    init(_ verb: String) {
        self.verb = verb
        start = clock.now
        last = start
    }

    /// Shows the count, the rate and, where the part done is known, the time left; ten times a second at most.
    func update(_ count: Int, _ part: Double?) {
        guard isShown, clock.now - last > .milliseconds(100) else { return }
        last = clock.now
        let seconds = Double((last - start).components.seconds) + 0.001
        var text = "\(count) \(verb), \(Int(Double(count) / seconds)) a second"
        if let part, part > 0.01 {
            let left = max(0, Int(seconds / part * (1 - part)))
            let bar = String(repeating: "#", count: max(0, min(20, Int(part * 20))))
            text =
                "[\(bar)\(String(repeating: ".", count: 20 - bar.count))] \(Int(part * 100)) %, \(text), "
                + "\(left) s left"
        }
        isDrawn = true
        ProcessServices.writeError("\r\u{1B}[K\(text)")
    }

    /// Takes the line away.
    func end() { if isDrawn { ProcessServices.writeError("\r\u{1B}[K") } }
}
