import LMDBStorage
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The in-memory files of this process by name.
enum InMemoryFiles {
    /// An open file, which exists as long as a handle of it.
    private struct Known: Sendable {
        weak let environment: Environment?
        let identity: EnvironmentRegistry.Identity
        let options: FileOptions

        var share: EnvironmentLease? {
            environment.flatMap { EnvironmentRegistry.share($0, identity) }
        }
    }

    private static let files = Mutex<[String: Known]>([:])

    /// The address space of one file, which is its maximum size.
    ///
    /// A process has address space for about a thousand files.
    private static let largest = min(64 << 30, EnvironmentOptions.usualMapSize)
    private static let least = 1 << 30

    /// The default size, which is the memory of the machine.
    private static var usualSize: Int {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        return max(least, min(largest, pages * sysconf(Int32(_SC_PAGESIZE))))
    }

    static func open(
        _ name: String, _ historyLimit: Int, _ size: Int?
    ) throws(StorageError) -> ColumnFile {
        let result = files.withLock { files -> Result<ColumnFile, StorageError> in
            do throws(StorageError) {
                if let known = files[name], let lease = known.share {
                    return .success(
                        try ColumnFile.shareInMemory(name, known.options, lease))
                }
                files = files.filter { $0.value.environment != nil }
                let options = FileOptions(
                    durability: .memory, mapSize: size ?? usualSize, historyLimit: historyLimit)
                let file = try ColumnFile.open(AnonymousFile(), named: name, options: options)
                let lease = try file.lease()
                files[name] = Known(
                    environment: lease.environment, identity: lease.identity, options: options)
                return .success(file)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
