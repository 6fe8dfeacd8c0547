#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Identifies the file of a path, so that two spellings of one path open one store.
struct FileIdentity {
    private let resolved: String?

    init(_ path: String) {
        resolved = unsafe realpath(path, nil).map { pointer in
            defer { unsafe free(pointer) }
            return unsafe String(cString: pointer)
        }
    }

    /// Returns false if either file does not exist.
    func isSame(as other: FileIdentity) -> Bool {
        resolved != nil && resolved == other.resolved
    }
}
