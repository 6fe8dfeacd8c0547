import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// An error of the storage: a raw code, the call that failed, and the file.
///
/// LMDB's own codes are negative, the system's (`errno`) positive; ``Code`` has those that a caller can handle.
@usableFromInline
package struct StorageError: Error, Equatable, Sendable {
    /// The kinds of failure that callers distinguish.
    package enum Code: Sendable {
        /// The map has no space for another page: the configured maximum size was reached.
        case mapFull
        /// The device has no space.
        case diskFull
        /// Every reader slot is taken.
        case readersFull
        /// The file is not a store.
        case notAStore
        /// The file was written by a newer version.
        case newerFormat
        /// The file is shorter than its own header states, or its content is not valid.
        case damaged
        /// The file was not copied, because a page or a value of it is damaged.
        case notCopied
        /// The device has failed during a commit, and the file can be used again only after it was closed.
        case needsReopening
        /// The process may not open or change the file.
        case permission
        /// The file was opened read-only.
        case readOnly
        /// The path, or a folder on it, does not exist.
        case notFound
        /// This thread already has a write open on this file.
        case writeInProgress
        /// Another process has made the file larger than this process's map.
        case mapResized
        /// The environment or snapshot was closed.
        case closed
        /// A file with the name already exists.
        case exists
        /// Another process or store has the file open.
        case inUse
        /// Another program has replaced, overwritten or truncated the open file, or its path no longer leads to it.
        case replaced
        /// The file needs a recovery with its log, but may not be written.
        case needsRecovery
        /// The file has hard links, and therefore several names.
        case severalNames
        /// The lock file or the log is a link, or not a regular file.
        case foreignCompanion
        /// The name is reserved for the lock file or the log of a store.
        case reservedName
        /// The file has no content yet, and may not be written.
        case empty
        /// The file was written by an earlier build, in a layout that this one does not read.
        case olderFormat
        /// The file system `/proc`, which provides paths of open files, is not mounted.
        case procMissing
        /// The script that writes has reached its memory limit.
        case memoryLimit
        /// The host interrupted the operation.
        case interrupted
        /// Any other error of the system.
        case system
    }

    /// The kind of failure.
    package let code: Code
    /// The code from LMDB or the system; 0 if this library found the failure.
    package let rawCode: Int32
    /// The call or check that failed.
    package let call: String
    /// The file, with the name that the caller used.
    package let file: String

    /// The raw code for a step that the script's memory account refuses; LMDB and the system do not use it.
    static let memoryLimitCode: Int32 = -31_000
    /// The raw code for a file that another program has changed.
    static let replacedCode: Int32 = -31_001

    /// The check that finds folders.
    static let folder = "a folder"
    static let irregular = "not a regular file"

    /// The check that compares the destination of a copy with its original.
    static let original = "the original"
    /// The check that finds stores at the destination of another file.
    static let store = "a store"
    /// The check of the lock file's content.
    static let lockContent = "its lock file"
    /// The call that creates the lock file.
    static let lockCreation = "create the lock file"
    /// The call that replaces a file.
    static let replacement = "replace"

    /// The call that creates a file.
    static let creation = "create"
    /// The call that opens a file for writing.
    static let writing = "write"

    /// The checks that find files of Realm, and encrypted copies.
    static let realm = "Realm file"
    static let encrypted = "encrypted copy"

    /// Whether the device, or the server of a file, has failed.
    package var isOfDevice: Bool {
        code == .needsReopening
            || code == .system && [EIO, ENXIO, ENODEV, ESTALE, ETIMEDOUT].contains(rawCode)
    }

    /// Creates an error from a raw code of LMDB or the system.
    package init(rawCode: Int32, call: String, file: String) {
        self.code = Self.classify(rawCode)
        self.rawCode = rawCode
        self.call = call
        self.file = file
    }

    /// Creates an error that this library found.
    package init(_ code: Code, call: String, file: String) {
        self.code = code
        self.rawCode = 0
        self.call = call
        self.file = file
    }

    /// Creates the same error for another file.
    init(_ error: StorageError, file: String) {
        code = error.code
        rawCode = error.rawCode
        call = error.call
        self.file = file
    }

    /// A sentence with the name of the file, and the solution.
    package var message: String {
        switch code {
        case .mapFull: "'\(file)' has reached its maximum size; open it with a larger maximum size"
        case .diskFull where rawCode == EFBIG:
            "'\(file)' has reached the file size limit of the system; raise the limit with ulimit -f and retry"
        case .diskFull:
            "no space left on the device of '\(file)'; free disk space and retry"
        case .readersFull:
            "too many readers of '\(file)'; a file has at most 4096 snapshots at the same time: close stores and "
                + "release frozen versions"
        case .notAStore where call == Self.irregular:
            "'\(file)' is not a store: it is not a regular file"
        case .notAStore where call == Self.folder: "'\(file)' is a folder, not a store"
        case .notAStore where call == Self.realm:
            "'\(file)' is a Realm file, not a store; open it with 'moonpool \(file)', or convert it with "
                + "'moonpool import NEW.moonpool \(file)'"
        case .notAStore where call == Self.encrypted:
            "'\(file)' is an encrypted copy; decrypt it with 'moonpool decrypt \(file) NEW.moonpool --key-file KEY'"
        case .notAStore: "'\(file)' is not a store"
        case .newerFormat: "'\(file)' was written by a newer version of Moonpool; update to open it"
        case .damaged where call == Self.lockContent:
            "'\(file)' cannot be opened: '\(file)-lock', its lock file, was overwritten; close the store in all "
                + "processes, then open it again"
        case .damaged: "'\(file)' is damaged (\(call))"
        case .notCopied:
            "'\(file)' is damaged (\(call)) and was not copied; export the intact classes with "
                + "'moonpool export --class NAME', or copy the damaged file itself with cp"
        case .permission where rawCode == EROFS:
            "'\(file)' is on a read-only file system"
                + ([Self.writing, Self.lockCreation].contains(call)
                    ? "; it can be opened for reading only" : "")
        case .permission where call == Self.creation:
            "no permission to create a file in the folder of '\(file)'"
        case .permission where call == Self.lockCreation:
            "'\(file)' cannot be opened for writing: no permission to create its lock file in this folder; it can be "
                + "opened for reading only"
        case .permission where call == Self.replacement:
            "no permission to replace '\(file)' in its folder"
        case .permission where call == Self.writing:
            "no permission to write '\(file)'; it can be opened for reading only"
        case .permission: "no permission to open '\(file)'"
        case .readOnly: "'\(file)' is open for reading only"
        case .notFound: Self.absence(of: file)
        case .writeInProgress: "this thread is already writing to '\(file)'"
        case .needsReopening:
            "the device of '\(file)' failed during a commit, which may or may not be in the file (\(call)); reopen it: "
                + "close it in this process, then open it again"
        case .mapResized: "another process has made '\(file)' larger than this process has mapped"
        case .closed: "'\(file)' is closed"
        case .exists where call == Self.original:
            "'\(file)' is the store itself; choose another name"
        case .exists where call == Self.store: "'\(file)' is a store; choose another name"
        case .exists where call == Self.folder: "'\(file)' is a folder; choose another name"
        case .exists where call == Self.irregular:
            "'\(file)' is not a regular file; choose another name"
        case .exists:
            "'\(file)' already exists; choose another name, or allow it to be overwritten"
        case .reservedName:
            "'\(file)' is reserved: the store without '\(call)' in its name uses this name; choose another name"
        case .inUse: "'\(file)' is open in \(call); close it there first"
        case .replaced:
            "'\(file)' was renamed, deleted, replaced or overwritten while it was open; nothing was written to it: close "
                + "it in all processes, put the file that you want to keep at its place, then open it again"
        case .needsRecovery:
            "'\(file)' was being written when the machine stopped, and is incomplete until '\(call)' is applied; open it "
                + "for writing once"
        case .severalNames:
            "'\(file)' has \(call) hard links, and a store must have exactly one name; remove the other names, or copy "
                + "the file with cp and open the copy"
        case .foreignCompanion:
            "'\(file)' is \(call), but a store needs this name for its own file; move or remove it"
        case .empty: "'\(file)' is empty; open it for writing once to make it a store"
        case .procMissing:
            "'\(file)' cannot be opened: the file system /proc is not mounted; mount it with 'mount -t proc proc /proc'"
        case .interrupted: "the operation was interrupted"
        case .memoryLimit: "not enough memory: the script has reached its limit"
        case .olderFormat:
            "'\(file)' was written by an earlier build of Moonpool, which uses an older file format; export the store with "
                + "'moonpool export' of that build, then import the result with this one"
        case .system where rawCode == EMFILE || rawCode == ENFILE:
            "'\(file)' cannot be opened: too many open files; close some of them, or raise the limit with ulimit -n"
        case .system where rawCode == ENOMEM:
            "not enough memory or address space to open '\(file)'"
        case .system where rawCode == ELOOP:
            "'\(file)' cannot be opened: too many symbolic links"
        case .system where rawCode == ENAMETOOLONG:
            "'\(file)' cannot be opened: the name is too long"
        case .system where rawCode == EISDIR: "'\(file)' is a folder"
        case .system where rawCode == EBUSY && call == Self.replacement:
            "'\(file)' is a mount point and cannot be replaced"
        case .system where rawCode == EIO:
            "the device of '\(file)' reported an error while it was read or written"
        case .system where rawCode == ENOLCK || rawCode == ENOTSUP:
            "the file system of '\(file)' does not support what a store needs: locks and mapped files (\(call))"
        case .system where rawCode == ESTALE:
            "'\(file)' no longer exists on its file server; open it again"
        default:
            "the system cannot use '\(file)': \(String(cString: mdb_strerror(rawCode))) (\(call))"
        }
    }

    /// Returns a description of the missing part of a file's path.
    private static func absence(of file: String) -> String {
        var status = stat()
        var folder = Platform.folder(of: file)
        while stat(folder, &status) != 0, errno == ENOTDIR { folder = Platform.folder(of: folder) }
        guard stat(folder, &status) == 0 else {
            return "there is no store '\(file)' and no folder '\(folder)'"
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return "there is no store '\(file)': '\(folder)' is not a folder"
        }
        return "there is no store '\(file)'"
    }

    private static func classify(_ raw: Int32) -> Code {
        switch raw {
        case MDB_MAP_FULL: .mapFull
        case memoryLimitCode: .memoryLimit
        case replacedCode: .replaced
        case MDB_READERS_FULL: .readersFull
        case MDB_INVALID: .notAStore
        case MDB_VERSION_MISMATCH: .newerFormat
        case MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_BAD_VALSIZE, MDB_INCOMPATIBLE: .damaged
        case MDB_MAP_RESIZED: .mapResized
        case ENOSPC, EDQUOT, EFBIG: .diskFull
        case EACCES, EPERM, EROFS: .permission
        case ENOENT, ENOTDIR: .notFound
        default: .system
        }
    }
}

extension StorageError: CustomStringConvertible {
    /// The sentence of ``message``.
    @usableFromInline package var description: String { message }
}
