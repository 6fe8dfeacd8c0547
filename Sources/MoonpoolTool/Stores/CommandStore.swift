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
        if isReadOnly { try requireFile(path) }
        return try Store(
            StoreConfiguration(.file(path), isReadOnly: isReadOnly), scheduler: UnwokenThread())
    }

    /// Throws `invalid_argument` for a file that does not exist, cannot be read, or is empty.
    static func requireFile(_ path: String) throws {
        guard ProcessServices.exists(path) else {
            throw StoreError(.invalidArgument, "there is no store '\(path)'")
        }
        // Opening it would make it a store, which is not for commands that only read.
        guard try !StoreFiles.isEmpty(path) else {
            throw StoreError(.invalidArgument, "'\(path)' is empty: nothing was stored there yet")
        }
    }

    /// A store that is gone with the command, for trying what would happen.
    static func openInMemory(named name: String = "copy") throws -> Store {
        try Store(StoreConfiguration(.memory(name)), scheduler: UnwokenThread())
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
