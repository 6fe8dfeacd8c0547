import CLMDB
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
        for name in Platform.names(in: folder) where name.hasPrefix(beginning) {
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
