import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import StoreBindings
import SystemCalls

/// Opens stores for commands.
enum CommandStore {
    /// Opens a store on this thread, without notifications.
    ///
    /// Throws `invalid_argument` if a read-only file does not exist, and the errors of a schema version that the file does
    /// not have.
    static func open(
        _ path: String, isReadOnly: Bool, _ version: SchemaVersionOption? = nil
    ) throws -> Store {
        // Opening a missing file would create a store, which a reading command must not do.
        if isReadOnly { try StoreFiles.requireStore(path) }
        let wait = WriteWait {
            ProcessServices.writeError("moonpool: \(WriteWait.text($0))\n")
        }
        var configuration = StoreConfiguration(
            .file(path), schemaVersion: version?.schemaVersion ?? 0, isReadOnly: isReadOnly)
        configuration.conversions = ScriptConversions()
        return try Store(
            configuration, scheduler: UnwokenThread(), whileWaiting: { wait.record($0) })
    }

    /// Opens an in-memory store for a dry run.
    static func openInMemory(named name: String = "copy") throws -> Store {
        try Store(StoreConfiguration(.memory(name)), scheduler: UnwokenThread())
    }
}

/// The option `--schema-version`, for a store with two schema versions.
struct SchemaVersionOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Use this schema version. While a migration is started, a store has two.",
            valueName: "n"))
    var schemaVersion: UInt64 = 0
}

/// Handles Ctrl-C in commands on files by ending the process immediately.
///
/// No rollback is necessary: an uncommitted write transaction has no effect, and output files get their names only when
/// they are complete. Only unfinished temporary files are removed.
enum CommandInterruption {
    /// Installs the handler.
    ///
    /// Call it before the first thread starts.
    static func begin() {
        ProcessServices.onTermination { signal in
            // The message is written first, so that no thread has time to create more files after the removal.
            ProcessServices.writeError("moonpool: interrupted\n")
            UnfinishedFiles.remove()
            StoreFiles.removeUnfinishedCopies()
            ProcessServices.exitNow(128 + signal)
        }
    }
}

/// A scheduler for a thread without an event loop.
private struct UnwokenThread: Scheduler {
    private struct Never: Wakeup {
        func wake() {}
        func cancel() {}
    }

    // A command uses its store only on the main thread.
    var isOnThread: Bool { true }
    var canDeliver: Bool { false }
    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup { Never() }
}

/// Reports the errors of commands.
enum CommandFailure {
    /// Runs the work.
    ///
    /// After an error, prints a line on standard error and exits with code 1.
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

/// Distinguishes stores from scripts.
enum StoreFile {
    /// Returns whether to open the file as a store: its name ends in `.moonpool`, or it has a store's content.
    ///
    /// A file with this name is never run as a script, and neither is an encrypted copy, which the store refuses.
    static func isStore(_ path: String) -> Bool {
        let name = path.lowercased()
        return name.hasSuffix(".moonpool") || name.hasSuffix(".enc")
            || FileKind(file: path) == .store
    }
}
