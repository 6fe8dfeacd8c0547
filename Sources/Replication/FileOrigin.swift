import ObjectStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where a file is: a copy of it is elsewhere.
enum FileOrigin {
    /// The machine, the device and the number of a file; `memory` for a store in memory.
    static func of(_ path: String?) -> String {
        guard let path else { return "memory" }
        var status = stat()
        guard stat(path, &status) == 0 else { return path }
        return "\(machine):\(status.st_dev):\(status.st_ino)"
    }

    /// Removes a file, if there is one.
    static func remove(_ path: String) { unlink(path) }

    private static let machine: String = {
        guard let file = fopen("/etc/machine-id", "r") else { return "-" }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 64)
        guard fgets(&buffer, 64, file) != nil else { return "-" }
        return String(decoding: buffer.prefix { $0 > 32 }.map { UInt8($0) }, as: UTF8.self)
    }()
}

/// A thread that waits for its own work: nothing wakes its stores.
package struct ReplicationThread: Scheduler, @unchecked Sendable {
    // @unchecked because the thread's handle is only compared.
    private let owner = pthread_self()

    private struct Never: Wakeup {
        func wake() {}
        func cancel() {}
    }

    /// The calling thread.
    package init() {}

    package var isOnThread: Bool { pthread_equal(owner, pthread_self()) != 0 }
    package var canDeliver: Bool { false }
    package func isSame(as other: any Scheduler) -> Bool {
        (other as? ReplicationThread).map { pthread_equal($0.owner, owner) != 0 } ?? false
    }
    package func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup { Never() }
}

enum Pause {
    /// Waits.
    static func milliseconds(_ count: Int) { usleep(UInt32(count) * 1000) }
}
