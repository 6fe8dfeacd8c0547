import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The copies of files that are not whole yet: those that this process makes, and those that killed processes have left.
///
/// Who makes one holds the system's lock on it, which goes with the process.
enum UnfinishedCopies {
    private static let mark = ".copy-"

    /// Those of this process, and how many there have been: two threads may copy to one place.
    private static let own = Mutex((paths: Set<String>(), count: 0))

    /// Notes that this process begins a copy; what it is called until it is whole.
    static func begin(_ destination: String) -> String {
        own.withLock { own in
            own.count += 1
            let path = destination + mark + "\(getpid())-\(own.count)"
            own.paths.insert(path)
            return path
        }
    }

    /// The copy has got its own name, or was given up.
    static func end(_ path: String) {
        own.withLock { _ = $0.paths.remove(path) }
    }

    /// Removes those of this process, which is about to end.
    static func removeOwn() {
        own.withLock { own in for path in own.paths { unlink(path) } }
    }

    /// Removes those of a file that nobody makes any more, as far as this process may.
    static func removeAbandoned(of destination: String) {
        let folder = Platform.folder(of: destination)
        let beginning = (destination.split(separator: "/").last ?? "") + mark
        for name in Platform.names(in: folder) where name.hasPrefix(beginning) {
            guard name.dropFirst(beginning.count).allSatisfy({ $0.isWholeNumber || $0 == "-" })
            else { continue }
            let path = "\(folder)/\(name)"
            let descriptor = Platform.openDescriptor(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            if Platform.lockFile(descriptor, LOCK_EX | LOCK_NB) { unlink(path) }
            close(descriptor)
        }
    }
}
