#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// Files and folders.
extension ProcessServices {
    /// Returns the first bytes of a file; nil if it cannot be read.
    ///
    /// Also returns nil for a pipe, whose bytes can be read only once.
    package static func read(_ path: String, limit: Int) -> [UInt8]? {
        isPlain(path) ? try? beginning(of: path, limit) : nil
    }

    /// Returns the absolute path of a file or folder without symbolic links; nil if it does not exist.
    package static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Renames a file, and replaces an existing one; returns the system's message after a failure.
    package static func rename(_ path: String, to newPath: String) -> String? {
        #if canImport(Glibc)
            let result = Glibc.rename(path, newPath)
        #else
            let result = Darwin.rename(path, newPath)
        #endif
        return result == 0 ? nil : systemMessage()
    }

    /// Returns whether a path leads to a regular file, and not to a pipe, a folder or a device.
    package static func isPlain(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Reads a whole file.
    ///
    /// Never returns a part of the file, because a truncated script could run as if it were complete. Throws if the
    /// file cannot be read or is longer than `limit` bytes, which is 64 MiB by default.
    package static func readWhole(
        _ path: String, limit: Int = 64 << 20
    ) throws(UnreadFile) -> [UInt8] {
        let bytes = try beginning(of: path, limit + 1)
        if bytes.count > limit { throw .tooLong(limit) }
        return bytes
    }

    private static func beginning(
        of path: String, _ limit: Int
    ) throws(UnreadFile) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw .system(errno) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: min(limit, 64 << 10))
        while bytes.count < limit {
            let count = Descriptor.read(file, into: &buffer, buffer.count)
            if count == 0 { return bytes }
            guard count > 0 else { throw .system(errno) }
            bytes += buffer[..<min(count, limit - bytes.count)]
        }
        return bytes
    }

    /// Writes a file, or appends to it; other users cannot read a new file that is private.
    ///
    /// Returns the system's message after a failure.
    package static func write(
        _ text: String, to path: String, appending: Bool = false, isPrivate: Bool = false
    ) -> String? {
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | (appending ? O_APPEND : O_TRUNC)
        let file = open(path, flags, isPrivate ? 0o600 : 0o644)
        guard file >= 0 else { return systemMessage() }
        defer { close(file) }
        let code = Descriptor.write(file, Array(text.utf8))
        return code == 0 ? nil : systemMessage(code)
    }

    /// Creates a folder in an existing one, unless the new folder already exists.
    ///
    /// Returns the system's message after a failure.
    package static func makeFolder(_ path: String, isPrivate: Bool = false) -> String? {
        mkdir(path, isPrivate ? 0o700 : 0o777) == 0 || errno == EEXIST ? nil : systemMessage()
    }

    /// Creates a folder without access for other users, in `$TMPDIR` or `/tmp`.
    ///
    /// Returns nil if the system cannot create it.
    package static func makePrivateFolder(named name: String) -> String? {
        var path = Array("\(temporaryFolder)/\(name)-XXXXXX".utf8CString)
        guard mkdtemp(&path) != nil else { return nil }
        return String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static var temporaryFolder: String {
        environment("TMPDIR").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
    }

    /// Creates a private folder that belongs to this process, and removes the folders with this name of processes that
    /// were killed.
    ///
    /// Returns nil if the system cannot create it.
    package static func makeOwnFolder(named name: String) -> String? {
        for found in names(in: temporaryFolder) ?? [] where found.hasPrefix(name + "-") {
            let path = "\(temporaryFolder)/\(found)"
            guard let lock = lockFolder(path) else { continue }
            removeFolder(path)
            close(lock)
        }
        // Another process can remove the folder before it is locked.
        for _ in 0..<100 {
            guard let path = makePrivateFolder(named: name) else { return nil }
            // The lock is held until the process ends.
            if lockFolder(path) != nil, access(path, F_OK) == 0 { return path }
        }
        return nil
    }

    /// Returns a descriptor that locks a folder of this user; nil if another process has it.
    private static func lockFolder(_ path: String) -> Int32? {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { return nil }
        var status = stat()
        if fstat(folder, &status) == 0, status.st_uid == geteuid(),
            flock(folder, LOCK_EX | LOCK_NB) == 0
        {
            return folder
        }
        close(folder)
        return nil
    }

    /// Removes a folder that contains only files, with its files.
    package static func removeFolder(_ path: String) {
        for name in names(in: path) ?? [] { unlink(path + "/" + name) }
        rmdir(path)
    }

    /// Returns the modification time of a file in nanoseconds and its length, for detecting changes.
    package static func stamp(of path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        #if canImport(Glibc)
            let time = status.st_mtim
        #else
            let time = status.st_mtimespec
        #endif
        return "\(time.tv_sec).\(time.tv_nsec) \(status.st_size) \(status.st_ino)"
    }

    /// Returns the size of a file in bytes; nil if the file does not exist.
    package static func size(of path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    /// Returns whether a path is that of a socket.
    package static func isSocket(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }

    /// Returns whether two paths lead to the same file; false if either does not exist.
    package static func isSameFile(_ first: String, _ second: String) -> Bool {
        var one = stat()
        var other = stat()
        return stat(first, &one) == 0 && stat(second, &other) == 0 && one.st_dev == other.st_dev
            && one.st_ino == other.st_ino
    }

    /// Returns whether a path leads to a folder.
    package static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Returns whether a file may exist at the path.
    ///
    /// Also returns true if this process has no permission to check.
    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 || (errno != ENOENT && errno != ENOTDIR)
    }

    /// Returns the names in a folder, unordered, without `.` and `..`; nil if the folder cannot be read.
    package static func names(in folder: String) -> [String]? {
        guard let directory = opendir(folder) else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let length = MemoryLayout.size(ofValue: entry.pointee.d_name)
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: length) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Removes a file if it exists.
    package static func remove(_ path: String) { unlink(path) }
}

/// The reason why a file was not read completely.
package enum UnreadFile: Error {
    /// The system's error number (`errno`).
    case system(Int32)
    /// The file is larger than this number of bytes.
    case tooLong(Int)

    /// The system's message, such as "No such file or directory", or the message that the file is too long.
    package var reason: String {
        switch self {
        case .system(let number): systemMessage(number)
        case .tooLong(let limit): "it is longer than \(limit >> 20) MiB"
        }
    }

    /// Whether the file does not exist.
    package var isMissing: Bool {
        if case .system(ENOENT) = self { true } else { false }
    }
}

/// The access rights of a file: its mode, owner and group.
package struct FileAccess: Sendable {
    private let mode: mode_t
    package let owner: uid_t
    private let group: gid_t

    private init(mode: mode_t, owner: uid_t, group: gid_t) {
        self.mode = mode
        self.owner = owner
        self.group = group
    }

    package init(_ status: stat) {
        mode = status.st_mode & 0o7777
        owner = status.st_uid
        group = status.st_gid
    }

    /// Reads the rights of an open file; nil if the system call fails.
    package init?(of descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Reads the rights of the file at a path; nil if it does not exist.
    package init?(at path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Whether the owner of another file is the superuser, this process's user, or a user with the right to write a
    /// file with these rights.
    package func permits(_ other: FileAccess) -> Bool {
        if [0, geteuid(), owner].contains(other.owner) || mode & 0o002 != 0 { return true }
        return mode & 0o020 != 0 && other.group == group
    }

    /// Sets the same rights on another open file, as far as this process may; returns false if the mode could not be
    /// set.
    ///
    /// Special bits such as set-user-ID have no meaning for data and are dropped. Only the superuser may change the
    /// owner. If the group cannot be set, the current group receives only the rights of all other users.
    @discardableResult  // because: for files next to a store this is optional
    package func apply(to descriptor: Int32) -> Bool {
        guard let present = FileAccess(of: descriptor) else { return false }
        var mode = mode & 0o777
        if present.owner != owner || present.group != group {
            let isGiven = fchown(descriptor, owner, group) == 0
            if !isGiven, present.group != group, fchown(descriptor, uid_t.max, group) != 0 {
                mode = mode & ~0o070 | (mode & 0o007) << 3 & mode & 0o070
            }
        }
        guard FileAccess(of: descriptor)?.mode != mode else { return true }
        return fchmod(descriptor, mode) == 0
    }

    /// Sets the same rights on an open file that belongs to this data file, such as its lock file or log.
    ///
    /// Its owner can always write it, because opening it is necessary to change its mode when that of the data file changes.
    package func applyToCompanion(_ descriptor: Int32) {
        FileAccess(mode: mode & 0o666 | 0o600, owner: owner, group: group).apply(to: descriptor)
    }
}
