import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A file under a name of its own, beside the one whose place it is going to take.
///
/// Until it is published, what was there stays; a draft that is dropped before is removed.
final class DraftFile {
    /// Where the draft is written.
    let path: String
    private let destination: String
    private var isPublished = false

    /// The drafts of this process that are not finished.
    private static let unfinished = Mutex<Set<String>>([])

    /// Chooses the draft's name, which no other one of this process has; the file is its owner's to create.
    init(of destination: String) {
        self.destination = destination
        path = Self.unfinished.withLock { paths in
            var path = "\(destination).\(getpid()).part"
            var number = 1
            while !paths.insert(path).inserted {
                number += 1
                path = "\(destination).\(getpid())-\(number).part"
            }
            return path
        }
    }

    deinit {
        Self.unfinished.withLock { _ = $0.remove(path) }
        if !isPublished { unlink(path) }
    }

    /// Puts the draft in its place; everything in it must be on the device.
    ///
    /// False, with `errno`, if the system refuses.
    func publish() -> Bool {
        guard rename(path, destination) == 0 else { return false }
        isPublished = true
        return true
    }

    /// Removes the drafts of this process, which is about to end.
    static func removeAll() {
        Self.unfinished.withLock { paths in for path in paths { unlink(path) } }
    }
}

/// Files that are being written.
package enum UnfinishedFiles {
    /// Removes what this process has begun to write and not finished, for who ends it early.
    ///
    /// On any thread; nothing may be written afterwards.
    package static func remove() { DraftFile.removeAll() }
}

/// Whether two paths lead to the same file.
package func isSameFile(_ first: String, _ second: String) -> Bool {
    var one = stat()
    var other = stat()
    return stat(first, &one) == 0 && stat(second, &other) == 0 && one.st_dev == other.st_dev
        && one.st_ino == other.st_ino
}
