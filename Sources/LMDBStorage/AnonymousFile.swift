import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A file without a path: no other process can open it, and it is removed when the process ends.
///
/// LMDB opens files by path only. Where `/proc` is mounted, an open file has a path there. On other systems, the file
/// has a name in its own ``WorkFolder`` until LMDB has opened it.
package struct AnonymousFile: ~Copyable {
    /// An open file; if the file has a name, also the folder that contains it.
    struct Handle: Sendable {
        let descriptor: Int32
        let folder: WorkFolder?
        /// Whether the file takes memory, which is not limited as a device is.
        let isInMemory: Bool

        /// The path of the file if it has a name.
        var path: String? { folder.map { $0.path + "/store" } }
    }

    let handle: Handle
    package var descriptor: Int32 { handle.descriptor }

    /// Creates a file in memory or, if the system does not support that or lacks memory for `size` bytes, in the
    /// temporary folder.
    package init(size: Int = 0) throws(StorageError) {
        guard DescriptorPath.isAvailable else {
            handle = try Self.named()
            return
        }
        var file: Int32 = -1
        if size <= Self.availableMemory / 4 { file = shim_memory_file("moonpool") }
        let isInMemory = file >= 0
        if file < 0 { file = Self.unnamed(in: Self.folders) }
        guard file >= 0 else {
            throw StorageError(rawCode: errno, call: "open", file: "a temporary file")
        }
        handle = Handle(descriptor: file, folder: nil, isInMemory: isInMemory)
    }

    deinit { close(handle.descriptor) }

    private static func named() throws(StorageError) -> Handle {
        let (folder, file) = try withFolder(named: "a temporary file") { folder in
            let file = Platform.openDescriptor(
                folder.path + "/store", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            return file >= 0 ? file : nil
        }
        return Handle(descriptor: file, folder: folder, isInMemory: false)
    }

    /// Creates a folder in the first location where `body` can use it.
    private static func withFolder<Result>(
        named name: String, _ body: (WorkFolder) -> Result?
    ) throws(StorageError) -> (WorkFolder, Result) {
        _ = removal
        var fault = ENOENT
        for parent in folders {
            do throws(StorageError) {
                let folder = try WorkFolder(beginning: "\(parent)/\(prefix)", named: name)
                if let result = body(folder) { return (folder, result) }
                fault = errno
            } catch {
                fault = error.rawCode
            }
        }
        throw StorageError(rawCode: fault, call: "mkdir", file: "a temporary folder")
    }

    /// The maximum size of a file in memory; 0 if it is not known.
    package static var availableMemory: Int {
        let pages = sysconf(Int32(_SC_AVPHYS_PAGES))
        let size = sysconf(Int32(_SC_PAGESIZE))
        return pages > 0 && size > 0 ? pages * size : 0
    }

    private static var folders: [String] {
        let chosen = getenv("TMPDIR").map { [String(cString: $0)] } ?? []
        return chosen + ["/dev/shm", "/tmp", "/var/tmp", "."]
    }

    private static func unnamed(in folders: [String]) -> Int32 {
        for folder in folders {
            let file = shim_unnamed_file(folder)
            if file >= 0 { return file }
        }
        for folder in folders {
            let path = "\(folder)/\(prefix)\(TemporaryName.random())"
            let file = Platform.openDescriptor(
                path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            if file >= 0 {
                unlink(path)
                return file
            }
        }
        return -1
    }

    /// Runs `body` with a path under which LMDB can open a data file and its lock file, neither of which has a name
    /// afterward.
    ///
    /// The path is in a ``WorkFolder``.
    static func withPath<Result>(
        of data: Handle, named name: String, _ body: (String) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        if let path = data.path {
            let lock = Platform.openDescriptor(
                path + "-lock", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard lock >= 0 else {
                throw StorageError(rawCode: errno, call: "open", file: "a temporary file")
            }
            close(lock)
            defer {
                unlink(path)
                unlink(path + "-lock")
            }
            return try body(path)
        }
        let lock = try AnonymousFile()
        let dataPath = try DescriptorPath.of(data.descriptor, file: name)
        let lockPath = try DescriptorPath.of(lock.descriptor, file: name)
        let (folder, path) = try withFolder(named: name) { folder -> String? in
            let path = folder.path + "/store"
            let isLinked =
                symlink(dataPath, path) == 0 && symlink(lockPath, path + "-lock") == 0
            return isLinked ? path : nil
        }
        defer { withExtendedLifetime(folder) {} }
        return try body(path)
    }

    private static let prefix = "moonpool-"

    /// Removes, once per process, the folders of processes that were killed while they opened a file.
    private static let removal: Void = {
        for parent in folders { WorkFolder.removeAbandoned("\(parent)/\(prefix)") }
    }()
}

/// A path of a file that this process has open, for LMDB, which opens files by path only.
enum DescriptorPath {
    /// Whether the file system `/proc`, which provides these paths, is mounted.
    static var isAvailable: Bool { access("/proc/self/fd", F_OK) == 0 }

    /// Returns the path of an open file.
    ///
    /// Throws `procMissing` with the name `file` if the file system `/proc` is not mounted.
    static func of(_ descriptor: Int32, file: String) throws(StorageError) -> String {
        let path = "/proc/self/fd/\(descriptor)"
        guard access(path, F_OK) == 0 else {
            throw StorageError(.procMissing, call: "access", file: file)
        }
        return path
    }
}
