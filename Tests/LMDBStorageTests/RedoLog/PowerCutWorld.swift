import Glibc
import Synchronization
import SystemCalls
import Testing

@testable import LMDBStorage

/// The content of a file for a reader.
struct Content: Equatable {
    var numbers: [UInt64: [UInt8]] = [:]
    var names: [[UInt8]: [UInt8]] = [:]
    var scratch: [UInt64: [UInt8]] = [:]

    static let tables = [
        TableName("numbers", .integers), TableName("names", .bytes),
        TableName("scratch", .integers),
    ]

    init() {}

    init(_ handle: TransactionHandle, _ tables: [Table]) throws {
        for (index, table) in tables.enumerated() {
            let cursor = try handle.cursor(table)
            var entry = try cursor.first()
            while let found = entry {
                switch index {
                case 0: numbers[found.integerKey] = Array(found.value)
                case 1: names[Array(found.key)] = Array(found.value)
                default: scratch[found.integerKey] = Array(found.value)
                }
                entry = try cursor.next()
            }
        }
    }
}

/// A file with random writes, its device, and the content of every version.
final class PowerCutWorld: Sendable {
    struct State {
        var device = Device()
        var pending: [UInt: (FileImage, Int)] = [:]
        var contents: [UInt64: Content] = [:]
        /// The newest version that was confirmed as durable, and the newest attempted version.
        var promised: UInt64 = 0
        var tried: UInt64 = 0
        var images = 0
        var recovered = 0
        var failures: [String] = []
    }

    let path: String
    let state = Mutex(State())

    init(_ path: String) { self.path = path }

    func open(_ path: String? = nil) throws -> EnvironmentLease {
        let lease = try EnvironmentRegistry.open(
            path: path ?? self.path, options: EnvironmentOptions(mapSize: 1 << 30),
            tables: Content.tables)
        lease.environment.log?.pace.threshold = 0
        lease.environment.log?.checkpointLag = 7
        lease.environment.log?.urgentLag = 7
        lease.environment.log?.commitsWithoutLog = 2
        return lease
    }

    /// Records the writes that reach the device; `failsLog` decides whether the next flush of the log fails.
    func installProbe(failsLog: @escaping @Sendable () -> Bool = { false }) {
        FlushProbe.installed.withLock {
            $0 = FlushProbe(
                before: { [self] descriptor in
                    guard let isLog = isLog(descriptor) else { return true }
                    if isLog, failsLog() { return false }
                    state.withLock {
                        $0.device.look(path)
                        $0.pending[ThreadIdentity.current.number] = (
                            FileImage(isLog ? path + "-log" : path), $0.device.tick()
                        )
                    }
                    return true
                },
                after: { [self] descriptor in
                    guard let isLog = isLog(descriptor) else { return }
                    state.withLock {
                        guard
                            let (image, time) = $0.pending.removeValue(
                                forKey: ThreadIdentity.current.number)
                        else { return }
                        if isLog {
                            $0.device.flushLog(image, time)
                        } else {
                            $0.device.flushData(image, time)
                        }
                        $0.device.look(path)
                    }
                })
        }
    }

    static func removeProbe() { FlushProbe.installed.withLock { $0 = nil } }

    private func isLog(_ descriptor: Int32) -> Bool? {
        var one = stat()
        var other = stat()
        guard fstat(descriptor, &one) == 0 else { return nil }
        if stat(path, &other) == 0, other.st_ino == one.st_ino { return false }
        if stat(path + "-log", &other) == 0, other.st_ino == one.st_ino { return true }
        return nil
    }

    /// One commit of random changes.
    func commit(
        _ lease: EnvironmentLease, _ durability: Durability,
        _ random: inout some RandomNumberGenerator
    ) throws {
        let write = try WriteTransaction(lease, durability: durability)
        let version = write.handle.version
        var content = state.withLock { $0.contents[version - 1] } ?? Content()
        let isGreat = try Self.change(&content, write.handle, lease.environment.tables, &random)
        state.withLock {
            $0.contents[version] = content
            $0.tried = version
            $0.device.look(path)
        }
        if Int.random(in: 0..<12, using: &random) == 0 {
            write.abort()
            return
        }
        try write.commit()
        let hasLog = lease.environment.log?.id ?? 0 != 0
        state.withLock {
            // LMDB has flushed the commit.
            if !hasLog || isGreat && durability == .full {
                $0.device.flushData(FileImage(path), $0.device.tick())
            }
            // A write without changes creates no version, and does not confirm earlier asynchronous writes.
            if durability == .full, lease.environment.latestVersion() == version {
                $0.promised = version
            }
            $0.device.look(path)
        }
    }

    /// One durable commit of a small change, beside other threads.
    ///
    /// Returns false if the device has refused it.
    func commitBesideOthers(
        _ lease: EnvironmentLease, _ random: inout some RandomNumberGenerator
    ) throws -> Bool {
        let write = try WriteTransaction(lease, durability: .full)
        let version = write.handle.version
        var content = state.withLock { $0.contents[version - 1] } ?? Content()
        let number = UInt64.random(in: 0..<60, using: &random)
        let value = withUnsafeBytes(of: UInt64.random(in: 0 ... .max, using: &random)) { Array($0) }
        try value.withUnsafeBytes { try write.handle.put(lease.environment.tables[0], number, $0) }
        content.numbers[number] = value
        state.withLock {
            $0.contents[version] = content
            $0.tried = max($0.tried, version)
            $0.device.look(path)
        }
        do { try write.commit() } catch { return false }
        state.withLock { $0.promised = max($0.promised, version) }
        return true
    }

    private static func change(
        _ content: inout Content, _ handle: TransactionHandle, _ tables: [Table],
        _ random: inout some RandomNumberGenerator
    ) throws -> Bool {
        var isGreat = false
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let number = UInt64.random(in: 0..<60, using: &random)
            let name = Array("name \(number % 40)".utf8)
            let size = [3, 40, 300, 3000, 20000].randomElement(using: &random) ?? 3
            let value =
                (0..<size).map { UInt8(truncatingIfNeeded: $0 &* Int(number) &+ size) }
                + withUnsafeBytes(of: UInt64.random(in: 0 ... .max, using: &random)) { Array($0) }
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<30:
                try value.withUnsafeBytes { try handle.put(tables[0], number, $0) }
                content.numbers[number] = value
            case 30..<50:
                let buffer = try handle.reserve(tables[0], number, count: value.count)
                buffer.copyBytes(from: value)
                content.numbers[number] = value
            case 50..<65:
                try name.withUnsafeBytes { key in
                    try value.withUnsafeBytes { try handle.put(tables[1], key, $0) }
                }
                content.names[name] = value
            case 65..<75:
                try handle.delete(tables[0], number)
                content.numbers[number] = nil
            case 75..<82:
                let cursor = try handle.cursor(tables[1])
                if try name.withUnsafeBytes({ try cursor.set($0) }) != nil { try cursor.delete() }
                content.names[name] = nil
            case 82..<92:
                try value.withUnsafeBytes { try handle.put(tables[2], number, $0) }
                content.scratch[number] = value
            case 92..<97:
                let cursor = try handle.cursor(tables[2])
                while try cursor.first() != nil { try cursor.delete() }
                content.scratch = [:]
            default:
                // More changes than fit into a record.
                let great = [UInt8](repeating: UInt8(number), count: 1_200_000)
                try great.withUnsafeBytes { try handle.put(tables[0], 99, $0) }
                content.numbers[99] = great
                try handle.delete(tables[0], 99)
                content.numbers[99] = nil
                isGreat = true
            }
        }
        return isGreat
    }
}
