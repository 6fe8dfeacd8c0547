#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A path under which LMDB, which opens files by path only, opens a file that this process already has open.
enum DescriptorPath {
    /// Whether the file system `/proc` is mounted, which has these paths.
    static var isAvailable: Bool { access("/proc/self/fd", F_OK) == 0 }

    /// Returns the path of an open file.
    ///
    /// Throws `procMissing`, which names `file`, where the file system `/proc` is not mounted.
    static func of(_ descriptor: Int32, file: String) throws(StorageError) -> String {
        let path = "/proc/self/fd/\(descriptor)"
        guard access(path, F_OK) == 0 else {
            throw StorageError(.procMissing, call: "access", file: file)
        }
        return path
    }
}
