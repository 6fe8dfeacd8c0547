#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
