import ColumnStorage

/// Operations on whole files, without a store.
package enum StoreFiles {
    /// Writes a compact copy of a file's newest version, also while other processes write.
    ///
    /// The copy has its final name only after it is complete and on the device; `isReplacing` allows overwriting
    /// another file that is not open. Throws `invalid_argument` (the file does not exist or cannot be read, the copy
    /// exists or cannot be created), `file_corrupt` (a page or a value is damaged; the message names it, and no file is
    /// created), `file_format_too_new`, `disk_full`.
    package static func backup(
        _ path: String, to destination: String, isReplacing: Bool = false
    ) throws {
        try leavingNoLockFile(of: path) {
            let file = try open(path)
            defer { file.close() }
            try StoreError.wrapping(file.copyCompacted(to: destination, isReplacing: isReplacing))
        }
    }

    /// Reclaims the unused space of a file.
    ///
    /// Returns the size in bytes before and after.
    ///
    /// No process may have the file open. After an error the file is unchanged. Throws `invalid_argument` (the file
    /// does not exist, is open, or is not writable), `file_corrupt` (as for a backup), `file_format_too_new`,
    /// `disk_full`.
    package static func compact(_ path: String) throws -> (before: Int, after: Int) {
        try leavingNoLockFile(of: path) {
            try open(path).close()
            return try StoreError.wrapping(ColumnFile.compact(path: path))
        }
    }

    /// Runs `body`, which opens and closes a file, and removes the lock file if `body` has created it.
    ///
    /// A lock file that another process uses stays.
    package static func leavingNoLockFile<Result>(
        of path: String, _ body: () throws -> Result
    ) rethrows -> Result {
        try ColumnFile.leavingNoLockFile(of: path, body)
    }

    /// Returns whether a file is empty, or the creation of its store did not finish.
    ///
    /// Opening such a file for writing creates the store. Throws `invalid_argument` (the file does not exist or cannot
    /// be read).
    package static func isEmpty(_ path: String) throws -> Bool {
        try StoreError.wrapping(ColumnFile.isEmpty(path: path))
    }

    /// Throws `invalid_argument` for a file that does not exist, cannot be read, or is empty.
    package static func requireStore(_ path: String) throws {
        guard try !isEmpty(path) else {
            throw StoreError(
                .invalidArgument, "'\(path)' is empty: it does not contain a store yet")
        }
    }

    /// Verifies the pages of a file before it is opened, and returns at most `limit` errors.
    ///
    /// A file with valid pages can be opened; ``Store/verify(atMost:)`` then verifies their contents. Other processes
    /// may use the file in the meantime, but this process must not have it open. Throws `invalid_argument` (the file
    /// does not exist, is not a store, or cannot be read), `file_corrupt`, `file_format_too_new`.
    package static func verifyPages(_ path: String, atMost limit: Int = 100) throws -> [StoreFault]
    {
        try StoreError.wrapping(ColumnFile.verifyPages(path: path, atMost: limit)).map {
            StoreFault(className: nil, property: nil, object: nil, what: $0.what)
        }
    }

    /// Returns the path of the file that a symbolic link leads to; any other path unchanged.
    package static func pathBehindLink(_ path: String) -> String {
        ColumnFile.pathBehindLink(path)
    }

    /// Throws `invalid_argument` for a path at which a file of another format must not be written: a store, its lock
    /// file or its log.
    package static func requireNoStore(_ path: String) throws {
        try StoreError.wrapping(ColumnFile.requireNoStore(path: path))
    }

    /// Runs `body` with the path of a new folder for working copies of a store.
    ///
    /// The new folder is in the folder of the store, so that there is space for copies, and only this user has access
    /// to it. It is removed afterward with the files in it. If the process is killed, the next work on the store
    /// removes it.
    ///
    /// Throws the errors of `body`, `permission` and `disk_full`.
    package static func withWorkFolder<Result>(
        beside store: String, _ body: (_ folder: String) throws -> Result
    ) throws -> Result {
        let folder = try StoreError.wrapping(ColumnFile.workFolder(beside: store))
        defer { withExtendedLifetime(folder) {} }
        return try body(folder.path)
    }

    /// Removes the unfinished copies of this process; call it when the process ends early.
    ///
    /// Any thread may call it; backups and compactions in progress fail.
    package static func removeUnfinishedCopies() { ColumnFile.removeUnfinishedCopies() }

    /// Opens a file for reading, and verifies that it is a store.
    private static func open(_ path: String) throws -> ColumnFile {
        try StoreError.wrapping(ColumnFile.open(path: path, options: FileOptions(isReadOnly: true)))
    }
}

extension Store {
    /// Writes a compact copy of the newest version to a file, also while others write.
    ///
    /// Reads the file once and the copy once, and verifies every page and value. Throws the errors of
    /// ``StoreFiles/backup(_:to:isReplacing:)``, `file_replaced`, `closed`, `wrong_thread`.
    public func backup(to destination: String, isReplacing: Bool = false) throws {
        try check()
        try view.requireUnchanged()
        try StoreError.wrapping(
            view.snapshot.file.copyCompacted(to: destination, isReplacing: isReplacing))
    }

    /// Holds the version before the open write transaction, and returns a function that replaces a file by a compact copy
    /// of it, also after later commits.
    ///
    /// The function throws the errors of ``StoreFiles/backup(_:to:isReplacing:)``.
    package func holdBackup(replacing path: String) throws -> () throws -> Void {
        try check()
        precondition(isInWrite, "another process could commit in the meantime")
        let held = try StoreError.wrapping(view.snapshot.file.holdVersion())
        return { try StoreError.wrapping(held.copyCompacted(to: path)) }
    }
}

/// Opens the file of a store.
enum FileOpening {
    /// Opens a file, and compacts it first if `shouldCompact` returns true and no other process has it open.
    static func open(
        _ configuration: StoreConfiguration, _ shouldCompact: ((Int, Int) throws -> Bool)?
    ) throws -> ColumnFile {
        let file = try open(configuration)
        guard let shouldCompact, case .file(let path) = configuration.location, !file.isReadOnly,
            file.isOnlyUse
        else { return file }
        let space = try StoreError.wrapping(file.space())
        guard try shouldCompact(space.total, space.used) else { return file }
        file.close()
        do {
            _ = try ColumnFile.compact(path: path)
        } catch  where error.code == .inUse {
            // A failed compaction must not prevent opening the file.
        } catch {
            throw StoreError(error)
        }
        return try open(configuration)
    }

    private static func open(_ configuration: StoreConfiguration) throws -> ColumnFile {
        try StoreError.wrapping { () throws(StorageError) in
            var options = FileOptions()
            options.isReadOnly = configuration.isReadOnly
            options.historyLimit = configuration.history
            options.durability =
                switch configuration.durability {
                case .full: .full
                case .async: .async
                case .memory: .memory
                }
            if let size = configuration.maximumSize { options.mapSize = size }
            switch configuration.location {
            case .file(let path): return try ColumnFile.open(path: path, options: options)
            case .memory(let name):
                return try ColumnFile.openInMemory(
                    named: name, historyLimit: configuration.history,
                    size: configuration.maximumSize)
            }
        }
    }
}

/// A reference to a store that does not keep it alive.
///
/// A weak reference to the store itself would slow down the counting of all references to it, and so every read.
final class StoreLink {
    /// The store; nil before it is created, and from the beginning of its deinitialization.
    unowned var store: Store?
}
