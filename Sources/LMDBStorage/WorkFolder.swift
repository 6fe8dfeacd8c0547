import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
        for name in Platform.names(in: path) where name != "." && name != ".." {
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
        for name in Platform.names(in: parent) where name.hasPrefix(prefix) {
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
