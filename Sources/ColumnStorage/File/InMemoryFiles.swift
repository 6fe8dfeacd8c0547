import LMDBStorage
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The in-memory files of this process by name.
enum InMemoryFiles {
    /// A file that is open as long as somebody has a share of it.
    private struct Known: Sendable {
        weak let environment: Environment?
        let identity: EnvironmentRegistry.Identity
        let options: FileOptions

        var share: EnvironmentLease? {
            environment.flatMap { EnvironmentRegistry.share($0, identity) }
        }
    }

    private static let files = Mutex<(byName: [String: Known], made: Int)>(([:], 0))

    /// The address space of one file, which is its largest size: a process has room for some thousand of these.
    private static let largest = min(64 << 30, EnvironmentOptions.usualMapSize)
    private static let least = 1 << 30

    static func open(
        _ name: String, _ historyLimit: Int, _ size: Int?
    ) throws(StorageError) -> ColumnFile {
        let result = files.withLock { files -> Result<ColumnFile, StorageError> in
            do throws(StorageError) {
                if let known = files.byName[name], let lease = known.share {
                    return .success(
                        try ColumnFile.shareInMemory(name, known.options, lease))
                }
                files.byName = files.byName.filter { $0.value.environment != nil }
                files.made += 1
                // Shared memory where there is some: never written to a device.
                let folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
                let room = max(least, min(largest, EnvironmentRegistry.deviceSize(folder)))
                let options = FileOptions(
                    durability: .memory, mapSize: size ?? room, historyLimit: historyLimit)
                let file = try ColumnFile.makeInMemory(
                    name, "\(folder)/moonpool-\(getpid())-\(files.made)", options: options)
                let lease = try file.lease()
                files.byName[name] = Known(
                    environment: lease.environment, identity: lease.identity, options: options)
                return .success(file)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
