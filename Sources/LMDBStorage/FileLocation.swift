#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The location of a file: the name that the caller used, and the path after resolving all symbolic links.
///
/// The names of the lock file and of the log are formed from the path, so processes that open a file through a link use
/// the same lock as all others. Errors show the name.
package struct FileLocation: Sendable, Equatable {
    /// The path that the caller passed.
    package let name: String
    /// The absolute path without symbolic links; the file itself need not exist.
    package let path: String
    /// Whether the file has no name in any folder, so that no other process can find it.
    let isAnonymous: Bool

    package var lockPath: String { path + "-lock" }
    package var logPath: String { path + "-log" }

    /// Resolves a path.
    ///
    /// A link whose target does not exist resolves to that target, where a new file is then created. Throws
    /// `notFound` if the folder does not exist, and `permission`.
    package init(_ name: String) throws(StorageError) {
        self.name = name
        isAnonymous = false
        var next = name
        // The system also follows up to this many links.
        for _ in 0..<40 {
            if let path = Self.resolve(next) {
                self.path = path
                return
            }
            let code = errno
            guard code == ENOENT, !next.isEmpty else {
                throw StorageError(rawCode: code, call: "open", file: name)
            }
            let folder = Platform.folder(of: next)
            if let target = Self.target(of: next) {
                next = target.hasPrefix("/") ? target : folder + "/" + target
                continue
            }
            guard let resolved = Self.resolve(folder) else {
                throw StorageError(rawCode: errno, call: "open", file: name)
            }
            let last = next.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
            guard !last.isEmpty, last != ".", last != ".." else {
                throw StorageError(rawCode: ENOENT, call: "open", file: name)
            }
            path = (resolved == "/" ? "" : resolved) + "/" + last
            return
        }
        throw StorageError(rawCode: ELOOP, call: "open", file: name)
    }

    /// Returns the path of the file that a symbolic link leads to; any other path unchanged.
    package static func pathBehindLink(_ name: String) -> String {
        guard target(of: name) != nil, let location = try? FileLocation(name) else { return name }
        return location.path
    }

    /// Creates the location of a file without a path; `name` is its name in errors, and `path` opens it in this
    /// process.
    init(anonymous name: String, path: String) {
        self.name = name
        self.path = path
        isAnonymous = true
    }

    /// Throws `severalNames` if a file has hard links, because each name would have its own lock file.
    static func requireOneName(_ status: stat, _ path: String) throws(StorageError) {
        if status.st_nlink > 1 {
            throw StorageError(.severalNames, call: "\(status.st_nlink)", file: path)
        }
    }

    private static func resolve(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    static func target(of link: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX) + 1) { buffer in
            let count = readlink(link, buffer.baseAddress!, Int(PATH_MAX))
            guard count > 0 else { return nil }
            buffer[count] = 0
            return String(cString: buffer.baseAddress!)
        }
    }
}

extension StorageError {
    /// Returns the same error with the name that the caller used.
    func named(_ location: FileLocation) -> StorageError {
        for companion in ["", "-lock", "-log"] where file == location.path + companion {
            return StorageError(self, file: location.name + companion)
        }
        return self
    }
}

/// Names that belong to the lock file or the log of an existing store.
package enum ReservedName {
    /// Throws `reservedName` for a path that ends in `-lock` or `-log` if the rest of it leads to a store.
    ///
    /// A new file with such a name would be used as the lock file or the log of the store, or would replace it.
    package static func check(_ path: String) throws(StorageError) {
        for ending in ["-lock", "-log"] where path.hasSuffix(ending) {
            if try isStore(String(path.dropLast(ending.count))) {
                throw StorageError(.reservedName, call: ending, file: path)
            }
        }
    }

    /// Throws `reservedName` or `exists` for a path at which a file of another format must not be written: a store, its
    /// lock file or its log.
    package static func requireNoStore(_ path: String) throws(StorageError) {
        guard let location = try? FileLocation(path) else { return }
        do throws(StorageError) {
            try check(location.path)
            if try isStore(location.path) {
                throw StorageError(.exists, call: StorageError.store, file: path)
            }
        } catch { throw error.named(location) }
    }

    private static func isStore(_ path: String) throws(StorageError) -> Bool {
        let descriptor = Platform.openDescriptor(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return try FileHeader.isStore(descriptor)
    }
}
