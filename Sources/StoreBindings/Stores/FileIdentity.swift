#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Which file a path means, so that two spellings of one path open one store.
struct FileIdentity {
    private let resolved: String?

    init(_ path: String) {
        resolved = unsafe realpath(path, nil).map { pointer in
            defer { unsafe free(pointer) }
            return unsafe String(cString: pointer)
        }
    }

    /// False when either does not exist.
    func isSame(as other: FileIdentity) -> Bool {
        resolved != nil && resolved == other.resolved
    }
}
