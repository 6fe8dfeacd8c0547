import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A file without a path: no other process can open it, and it is gone when the process ends.
///
/// LMDB opens files by path only. Where `/proc` is mounted, an open file has one there. Elsewhere the file has a name in
/// a folder of its own, which only this user may look into, until LMDB has opened it.
package struct AnonymousFile: ~Copyable {
    /// An open file, and the folder that it was created in if it has a name.
    struct Handle: Sendable {
        let descriptor: Int32
        let folder: String?

        /// The path of the file if it has a name.
        var path: String? { folder.map { $0 + "/store" } }

        /// Removes the name, and the folder with it.
        func removeName() {
            guard let folder, let path else { return }
            unlink(path)
            unlink(path + "-lock")
            rmdir(folder)
        }
    }

    let handle: Handle
    package var descriptor: Int32 { handle.descriptor }

    /// A file in memory, or, where the system has none or not enough memory for `size` bytes, in the folder for
    /// temporary files.
    package init(size: Int = 0) throws(StorageError) {
        guard DescriptorPath.isAvailable else {
            handle = try Self.named()
            return
        }
        var file: Int32 = -1
        if size <= Self.availableMemory / 4 { file = shim_memory_file("moonpool") }
        if file < 0 { file = Self.unnamed(in: Self.folders) }
        guard file >= 0 else {
            throw StorageError(rawCode: errno, call: "open", file: "a temporary file")
        }
        handle = Handle(descriptor: file, folder: nil)
    }

    deinit {
        handle.removeName()
        close(handle.descriptor)
    }

    private static func named() throws(StorageError) -> Handle {
        for parent in folders {
            let folder = "\(parent)/moonpool-\(TemporaryName.random())"
            guard mkdir(folder, 0o700) == 0 else { continue }
            let file = Platform.openDescriptor(
                folder + "/store", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            if file >= 0 { return Handle(descriptor: file, folder: folder) }
            rmdir(folder)
        }
        throw StorageError(rawCode: errno, call: "mkdir", file: "a temporary folder")
    }

    /// The size that a file in memory may reach; 0 if it is not known.
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
            let path = "\(folder)/moonpool-\(TemporaryName.random())"
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
    /// afterwards.
    ///
    /// The path is of a folder that only this user may look into. It exists while `body` runs.
    static func withPath<Result>(
        of data: Handle, named name: String, _ body: (String) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        if let path = data.path {
            defer { data.removeName() }
            let lock = Platform.openDescriptor(
                path + "-lock", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard lock >= 0 else {
                throw StorageError(rawCode: errno, call: "open", file: "a temporary file")
            }
            close(lock)
            return try body(path)
        }
        let lock = try AnonymousFile()
        let dataPath = try DescriptorPath.of(data.descriptor, file: name)
        let lockPath = try DescriptorPath.of(lock.descriptor, file: name)
        for parent in folders {
            let folder = "\(parent)/moonpool-\(TemporaryName.random())"
            guard mkdir(folder, 0o700) == 0 else { continue }
            let path = folder + "/store"
            defer {
                unlink(path)
                unlink(path + "-lock")
                rmdir(folder)
            }
            guard symlink(dataPath, path) == 0, symlink(lockPath, path + "-lock") == 0 else {
                continue
            }
            return try body(path)
        }
        throw StorageError(rawCode: errno, call: "mkdir", file: "a temporary folder")
    }
}
