import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore

/// Opens stores for commands.
enum CommandStore {
    /// Opens a store on this thread, without notifications.
    ///
    /// Throws `invalid_argument` if a read-only file does not exist.
    static func open(_ path: String, isReadOnly: Bool) throws -> Store {
        // Opening it would create a store, which a reading command must not do.
        if isReadOnly { try StoreFiles.requireStore(path) }
        return try Store(
            StoreConfiguration(.file(path), isReadOnly: isReadOnly), scheduler: UnwokenThread())
    }

    /// Opens an in-memory store for a dry run.
    static func openInMemory(named name: String = "copy") throws -> Store {
        try Store(StoreConfiguration(.memory(name)), scheduler: UnwokenThread())
    }
}

/// Ends a command on files immediately on Ctrl-C.
///
/// Nothing has to be undone: an uncommitted write transaction has no effect, and output files appear under their names
/// only when they are complete. Only unfinished temporary files are removed.
enum CommandInterruption {
    /// Installs the handler.
    ///
    /// Call it before the first thread starts.
    static func begin() {
        ProcessServices.onTermination { signal in
            // The message comes first: after the files are removed, no thread may have time to create more.
            ProcessServices.writeError("moonpool: interrupted\n")
            UnfinishedFiles.remove()
            StoreFiles.removeUnfinishedCopies()
            ProcessServices.exitNow(128 + signal)
        }
    }
}

/// A thread without an event loop.
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

/// Reports the errors of commands.
enum CommandFailure {
    /// Runs the work.
    ///
    /// An error prints a line on standard error and exits with code 1.
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
