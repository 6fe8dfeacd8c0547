import CLMDB
import MemoryAccounts

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// LMDB's copy of an environment, which limits the resident pages of the file in a script with a memory limit.
///
/// Reads in Swift are counted (``Environment/noteRead(_:)``), but LMDB's own are not. It therefore writes the copy into a
/// socket on another thread. The calling thread measures the memory of the process while it reads from the socket, so
/// LMDB reads at most a few megabytes between two measurements.
final class MeasuredCopy: @unchecked Sendable {
    // Unchecked because: the thread sets `code` before it ends, and the caller reads it after joining the thread.
    private let environment: OpaquePointer
    private let target: Int32
    private var code: Int32 = 0

    private init(_ environment: OpaquePointer, to target: Int32) {
        self.environment = environment
        self.target = target
    }

    /// Writes a compact copy into an open file, and returns LMDB's error code.
    ///
    /// Without a script whose memory is measured, or if the system has no resources for a socket and a thread, LMDB
    /// writes the file itself.
    static func write(_ environment: OpaquePointer, to descriptor: Int32) -> Int32 {
        guard let account = MemoryAccount.current, account.isMeasured,
            let file = Environment.addMappedFile(environment)
        else { return copy(environment, to: descriptor) }
        defer { MappedFiles.remove(file) }
        guard let ends = connectedEnds() else { return copy(environment, to: descriptor) }
        let copying = MeasuredCopy(environment, to: ends.write)
        guard let thread = copying.start() else {
            close(ends.read)
            close(ends.write)
            return copy(environment, to: descriptor)
        }
        let failure = move(ends.read, to: descriptor, account)
        // After a failure, the thread gets EPIPE.
        close(ends.read)
        pthread_join(thread, nil)
        return failure == 0 ? copying.code : failure
    }

    /// Creates a connection that programs started in the meantime do not inherit: they would keep it open.
    private static func connectedEnds() -> (read: Int32, write: Int32)? {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        return socketpair(AF_UNIX, type, 0, &ends) == 0 ? (ends[0], ends[1]) : nil
    }

    private static func copy(_ environment: OpaquePointer, to descriptor: Int32) -> Int32 {
        mdb_env_copyfd2(environment, descriptor, UInt32(MDB_CP_COMPACT))
    }

    /// Writes everything from a socket into a file; returns an error code, or 0.
    private static func move(
        _ source: Int32, to target: Int32, _ account: MemoryAccount
    ) -> Int32 {
        withUnsafeTemporaryAllocation(byteCount: 256 << 10, alignment: 16) { buffer in
            while true {
                let count = read(source, buffer.baseAddress, buffer.count)
                if count == 0 { return 0 }
                if count < 0 {
                    if errno == EINTR { continue }
                    return errno
                }
                account.measureIfDue()
                var written = 0
                while written < count {
                    let more = Glibc.write(
                        target, buffer.baseAddress.map { $0 + written }, count - written)
                    if more > 0 {
                        written += more
                    } else if more == 0 || errno != EINTR {
                        return more == 0 ? EIO : errno
                    }
                }
            }
        }
    }

    private func start() -> pthread_t? {
        // The thread must not receive signals meant for others, nor SIGPIPE.
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self).toOpaque()
        if pthread_create(&thread, nil, copyMain, context) == 0 { return thread }
        Unmanaged<MeasuredCopy>.fromOpaque(context).release()
        return nil
    }

    fileprivate func run() {
        code = Self.copy(environment, to: target)
        close(target)
    }
}

private func copyMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { Unmanaged<MeasuredCopy>.fromOpaque(context).takeRetainedValue().run() }
    return nil
}
