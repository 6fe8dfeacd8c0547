import Glibc
import Synchronization

/// Passes the keys of changed rows from a writer over plain LMDB, which has no notifications.
protocol ChangedKeys: Sendable {
    func send(_ key: Int64)
    /// Waits for keys; nil after `close`.
    func receive() -> [Int64]?
    func close()
}

/// Passes keys to another thread.
final class SharedKeys: ChangedKeys {
    private let signal = Signal()
    private let sent = Mutex<[Int64]>([])

    func send(_ key: Int64) {
        sent.withLock { $0.append(key) }
        signal.raise()
    }

    func receive() -> [Int64]? {
        guard signal.wait() else { return nil }
        return sent.withLock { keys in
            defer { keys.removeAll(keepingCapacity: true) }
            return keys
        }
    }

    func close() { signal.close() }
}

/// Passes keys to another process, through a named pipe beside the file.
final class PipedKeys: ChangedKeys {
    private let pipe: Int32
    private static let end = Int64.min

    /// Creates the pipe of a folder.
    convenience init(in folder: String) throws {
        guard mkfifo(Self.path(folder), 0o600) == 0, let created = Self.open(folder) else {
            throw BenchmarkError("no named pipe")
        }
        self.init(created)
    }

    /// Opens a pipe that another process has created; nil if there is none.
    convenience init?(of folder: String) {
        guard let found = Self.open(folder) else { return nil }
        self.init(found)
    }

    private init(_ pipe: Int32) { self.pipe = pipe }

    deinit { Glibc.close(pipe) }

    private static func path(_ folder: String) -> String { "\(folder)/changed-keys" }

    private static func open(_ folder: String) -> Int32? {
        // Opened for reading and writing, so that opening does not block.
        let pipe = Glibc.open(path(folder), O_RDWR | O_CLOEXEC)
        return pipe < 0 ? nil : pipe
    }

    func send(_ key: Int64) {
        var key = key
        precondition(write(pipe, &key, 8) == 8, "the reader of the changed keys has ended")
    }

    func receive() -> [Int64]? {
        var keys = [Int64](repeating: 0, count: 64)
        let count = read(pipe, &keys, 8 * keys.count)
        guard count > 0 else { return nil }
        keys.removeLast(keys.count - count / 8)
        return keys.contains(Self.end) ? nil : keys
    }

    func close() { send(Self.end) }
}
