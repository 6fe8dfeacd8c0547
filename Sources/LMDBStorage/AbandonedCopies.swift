#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Copies of a file whose makers were killed before they were whole.
///
/// Who makes one holds the system's lock on it, which goes with the process.
enum AbandonedCopies {
    /// What the copy that this process makes is called until it is whole.
    static func temporaryPath(of destination: String) -> String {
        destination + mark + "\(getpid())"
    }

    private static let mark = ".copy-"

    /// Removes them, as far as this process may.
    static func remove(of destination: String) {
        let folder = Platform.folder(of: destination)
        let name = destination.split(separator: "/").last ?? ""
        for found in Platform.names(in: folder) where found.hasPrefix(name + mark) {
            guard found.dropFirst(name.count + mark.count).allSatisfy(\.isWholeNumber) else {
                continue
            }
            let path = "\(folder)/\(found)"
            let descriptor = Platform.openDescriptor(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            if Platform.lockFile(descriptor, LOCK_EX | LOCK_NB) { unlink(path) }
            close(descriptor)
        }
    }
}
