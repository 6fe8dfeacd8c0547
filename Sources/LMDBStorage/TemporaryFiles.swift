import CLMDB
import Synchronization
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Random names, so that no other program can prepare a file or a link with the same name.
enum TemporaryName {
    private static let letters = Array("abcdefghijklmnopqrstuvwxyz234567")
    static let length = 16

    /// Returns 80 random bits as letters and digits.
    static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        return String((0..<length).map { _ in letters.randomElement(using: &generator) ?? "a" })
    }

    /// Returns whether a text can be a result of ``random()``.
    static func isPlausible(_ text: Substring) -> Bool {
        text.count == length && text.allSatisfy { letters.contains($0) }
    }
}

/// A file that is written next to its destination and renamed to it when it is complete.
///
/// Until then the file has a random name, so no other program can prepare a file or a link with that name. The process
/// that writes the file holds the system's lock on it. The lock ends with the process, so abandoned files can be
/// distinguished from those in progress.
final class DraftCopy {
    let path: String
    /// The descriptor for reading and writing; closed with the draft.
    let descriptor: Int32
    private var isPublished = false

    private static let mark = ".copy-"
    private static let unfinished = Mutex<Set<String>>([])

    /// Creates the file with a mode, restricted by the umask.
    ///
    /// Throws `permission`, `notFound`, `diskFull`.
    init(beside destination: String, mode: mode_t) throws(StorageError) {
        var path = destination
        var descriptor: Int32 = -1
        repeat {
            path = destination + Self.mark + TemporaryName.random()
            descriptor = Self.create(path, mode)
        } while descriptor < 0 && errno == EEXIST
        guard descriptor >= 0 else {
            throw StorageError(rawCode: errno, call: StorageError.creation, file: destination)
        }
        self.path = path
        self.descriptor = descriptor
    }

    /// Returns a descriptor that holds the lock on a new file; negative, with `errno`, if the system refuses.
    private static func create(_ path: String, _ mode: mode_t) -> Int32 {
        // The path is recorded first, so that the file is removed whenever the process is interrupted.
        _ = unfinished.withLock { $0.insert(path) }
        let descriptor = Platform.openDescriptor(
            path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        if descriptor >= 0 {
            // because: without file locks, other processes do not rely on the lock either.
            _ = Platform.lockFile(descriptor, LOCK_EX | LOCK_NB)
            // Another process may have removed the new file as abandoned.
            var status = stat()
            if fstat(descriptor, &status) == 0, status.st_nlink > 0 { return descriptor }
            close(descriptor)
            errno = EEXIST
        }
        let code = errno
        _ = unfinished.withLock { $0.remove(path) }
        errno = code
        return -1
    }

    deinit {
        if !isPublished { unlink(path) }
        close(descriptor)
        _ = Self.unfinished.withLock { $0.remove(path) }
    }

    /// Renames the file to its final name and flushes the folder.
    ///
    /// Throws `exists` if a file has the name and `isReplacing` is false.
    func publish(as destination: String, isReplacing: Bool) throws(StorageError) {
        if isReplacing {
            guard rename(path, destination) == 0 else {
                throw StorageError(
                    rawCode: errno, call: StorageError.replacement, file: destination)
            }
        } else {
            var code = shim_rename_exclusively(path, destination)
            if code == EINVAL || code == ENOSYS {
                // Unlike a rename, a link never replaces a file that was created in the meantime.
                code = link(path, destination) == 0 ? 0 : errno
                if code == 0 { unlink(path) }
            }
            if code == EEXIST { throw StorageError(.exists, call: "rename", file: destination) }
            guard code == 0 else {
                throw StorageError(rawCode: code, call: "rename", file: destination)
            }
        }
        isPublished = true
        Self.flushFolder(of: destination)
    }

    /// Flushes a folder, so that a new name in it survives a power failure if the system supports that.
    static func flushFolder(of path: String) {
        let descriptor = Platform.openDescriptor(Platform.folder(of: path), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = Platform.flushFolder(descriptor)
        close(descriptor)
    }

    /// Removes the drafts of this process, which is about to end.
    static func removeOwn() {
        unfinished.withLock { for path in $0 { unlink(path) } }
    }

    /// Removes the drafts of a file that no process writes, if this process may remove them.
    static func removeAbandoned(of destination: String) {
        let folder = Platform.folder(of: destination)
        let beginning = (destination.split(separator: "/").last ?? "") + mark
        for name in (ProcessServices.names(in: folder) ?? []) where name.hasPrefix(beginning) {
            guard TemporaryName.isPlausible(name.dropFirst(beginning.count)) else { continue }
            let path = "\(folder)/\(name)"
            let descriptor = Platform.openDescriptor(
                path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            if Platform.lockFile(descriptor, LOCK_EX | LOCK_NB) { unlink(path) }
            close(descriptor)
        }
    }
}

/// A folder with a random name for the files of one operation.
///
/// The folder is removed with its files when the operation ends. Only this user has access to it. The process that
/// creates the folder holds the system's lock on it. The lock ends with the process, so abandoned folders can be
/// distinguished from folders in use.
package final class WorkFolder: Sendable {
    /// The folder's path, without a slash at its end.
    package let path: String
    private let descriptor: Int32

    /// The folders of this process.
    private static let present = Mutex<Set<String>>([])
    private static let attempts = 10

    /// Creates a folder in the folder of a store, and removes those that killed processes have left there.
    ///
    /// Throws `permission`, `notFound`, `diskFull`.
    package convenience init(beside store: String) throws(StorageError) {
        let beginning = try FileLocation(store).path + ".work-"
        Self.removeAbandoned(beginning)
        try self.init(beginning: beginning, named: store)
    }

    /// Creates a folder whose path is `beginning` followed by a random name; `name` is its name in errors.
    init(beginning: String, named name: String) throws(StorageError) {
        var (path, descriptor) = ("", Int32(-1))
        for _ in 0..<Self.attempts where descriptor < 0 {
            path = beginning + TemporaryName.random()
            descriptor = Self.create(path)
            // Another process may have removed the new folder as abandoned.
            guard descriptor < 0, [EEXIST, ENOENT, EWOULDBLOCK].contains(errno) else { break }
        }
        guard descriptor >= 0 else {
            throw StorageError(rawCode: errno, call: StorageError.creation, file: name)
        }
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        Self.remove(path)
        close(descriptor)
        _ = Self.present.withLock { $0.remove(path) }
    }

    /// Returns a descriptor that holds the lock on a new folder; negative if the system refuses.
    private static func create(_ path: String) -> Int32 {
        // The path is recorded first, so that the folder is removed whenever the process is interrupted.
        _ = present.withLock { $0.insert(path) }
        var descriptor: Int32 = -1
        if mkdir(path, 0o700) == 0 {
            descriptor = Platform.openDescriptor(path, flags)
            // because: without folder locks, other processes do not rely on the lock either.
            if descriptor >= 0, !Platform.lockFile(descriptor, LOCK_EX | LOCK_NB),
                errno == EWOULDBLOCK
            {
                close(descriptor)
                descriptor = -1
                errno = EWOULDBLOCK
            }
        }
        if descriptor < 0 {
            let code = errno
            _ = present.withLock { $0.remove(path) }
            errno = code
        }
        return descriptor
    }

    private static let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC

    private static func remove(_ path: String) {
        for name in (ProcessServices.names(in: path) ?? []) {
            unlink("\(path)/\(name)")
        }
        rmdir(path)
    }

    /// Removes the folders of this process, which is about to end.
    static func removeOwn() {
        present.withLock { for path in $0 { remove(path) } }
    }

    /// Removes this user's folders whose paths start with `beginning`, unless a process uses them.
    static func removeAbandoned(_ beginning: String) {
        let parent = Platform.folder(of: beginning)
        let prefix = beginning.split(separator: "/").last ?? ""
        for name in (ProcessServices.names(in: parent) ?? []) where name.hasPrefix(prefix) {
            guard TemporaryName.isPlausible(name.dropFirst(prefix.count)) else { continue }
            let path = "\(parent)/\(name)"
            let descriptor = Platform.openDescriptor(path, flags)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            guard FileAccess(of: descriptor)?.owner == geteuid(),
                Platform.lockFile(descriptor, LOCK_EX | LOCK_NB)
            else { continue }
            remove(path)
        }
    }
}
