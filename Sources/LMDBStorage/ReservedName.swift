#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Names that belong to the lock file or the log of an existing store.
package enum ReservedName {
    /// Throws `reservedName` for a path that ends in `-lock` or `-log` if the rest of it leads to a store.
    ///
    /// A new file with such a name would be used as the lock file or the log of the store, or would replace it.
    package static func check(_ path: String) throws(StorageError) {
        for ending in ["-lock", "-log"] where path.hasSuffix(ending) {
            if isStore(String(path.dropLast(ending.count))) {
                throw StorageError(.reservedName, call: ending, file: path)
            }
        }
    }

    /// Throws `reservedName` or `exists` for a path at which a file of another format must not be written: a store, its
    /// lock file or its log.
    package static func requireNoStore(_ path: String) throws(StorageError) {
        guard let location = try? FileLocation(path) else { return }
        do throws(StorageError) { try check(location.path) } catch { throw error.named(location) }
        if isStore(location.path) {
            throw StorageError(.exists, call: StorageError.store, file: path)
        }
    }

    private static func isStore(_ path: String) -> Bool {
        let descriptor = Platform.openDescriptor(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return FileHeader.isStore(descriptor)
    }
}
