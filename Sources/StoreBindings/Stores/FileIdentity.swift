#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The identity of a file, so that different paths of one file open the same store.
struct FileIdentity {
    private let resolved: String?

    init(_ path: String) {
        resolved = unsafe realpath(path, nil).map { pointer in
            defer { unsafe free(pointer) }
            return unsafe String(cString: pointer)
        }
    }

    /// Returns whether both are the same file; false if either does not exist.
    func isSame(as other: FileIdentity) -> Bool {
        resolved != nil && resolved == other.resolved
    }
}
