#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Random names, so that no other program can prepare a file or a link with the same name.
enum TemporaryName {
    private static let letters = Array("abcdefghijklmnopqrstuvwxyz234567")
    static let length = 16

    /// Returns 80 random bits as letters and digits.
    static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        return String((0..<length).map { _ in letters.randomElement(using: &generator) ?? "a" })
    }

    /// Returns whether a text can be a result of ``random()``.
    static func isPlausible(_ text: Substring) -> Bool {
        text.count == length && text.allSatisfy { letters.contains($0) }
    }
}

/// The access rights of a file: its mode, owner and group.
struct FileAccess {
    let mode: mode_t
    let owner: uid_t
    let group: gid_t

    init(_ status: stat) {
        mode = status.st_mode & 0o7777
        owner = status.st_uid
        group = status.st_gid
    }

    /// Reads the rights of an open file; nil if the system call fails.
    init?(of descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Reads the rights of the file at a path; nil if it does not exist.
    init?(at path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Whether the owner of another file is the superuser, this process's user, or a user with the right to write a
    /// file with these rights.
    func permits(_ other: FileAccess) -> Bool {
        if [0, geteuid(), owner].contains(other.owner) || mode & 0o002 != 0 { return true }
        return mode & 0o020 != 0 && other.group == group
    }

    /// Sets the same rights on another open file, as far as this process may; returns false if the mode could not be
    /// set.
    ///
    /// Special bits such as set-user-ID have no meaning for data and are dropped. Only the superuser may change the
    /// owner. If the group cannot be set, the current group receives only the rights of all other users.
    @discardableResult  // because: for files next to a store this is optional
    func apply(to descriptor: Int32, mask: mode_t = 0o777) -> Bool {
        guard let present = FileAccess(of: descriptor) else { return false }
        var mode = mode & mask
        if present.owner != owner || present.group != group {
            let isGiven = fchown(descriptor, owner, group) == 0
            if !isGiven, present.group != group, fchown(descriptor, uid_t.max, group) != 0 {
                mode = mode & ~0o070 | (mode & 0o007) << 3 & mode & 0o070
            }
        }
        guard FileAccess(of: descriptor)?.mode != mode else { return true }
        return fchmod(descriptor, mode) == 0
    }
}
