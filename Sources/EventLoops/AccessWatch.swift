import CUV

#if canImport(Glibc)
    import Glibc
#endif

/// Tells the loop that somebody read from a file or closed it: how processes that have the same file open call each other.
///
/// Reading a byte is the cheapest call there is: it needs no right to write, and leaves nothing to be written to the disk.
/// Processes that are killed close what they had open, so whoever waits for a call of theirs hears of their end.
///
/// Many accesses before the next turn make one call of the handler, which means "look". The accesses of this process count as
/// well, those through a memory map do not. Does not keep the loop alive. On the loop's thread. Linux only: inotify(7).
public final class AccessWatch {
    private weak var loop: EventLoop?
    private var handle: UnsafeMutablePointer<uv_poll_t>?
    private let wakeup: LoopWakeup
    private let descriptor: Int32

    /// The watched file.
    public let path: String

    /// Starts watching; fails when the file does not exist or the system has no watches left.
    public init(path: String, on loop: EventLoop, _ handler: @escaping () -> Void) throws(LoopError)
    {
        loop.preconditionOnLoop()
        descriptor = try Self.openWatch(of: path)
        self.loop = loop
        self.path = path
        wakeup = loop.makeWakeup(handler)
        let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
        let status = uv_poll_init(loop.handle, handle, descriptor)
        if status == 0 {
            loop.own(handle)
            self.handle = handle
        } else {
            handle.deallocate()
            wakeup.cancel()
            systemClose(descriptor)
        }
        try LoopError.check(status, "uv_poll_init", path: path)
        // Because: `cancel`, without which the watch does not go, closes the handle, which clears the field.
        handle.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        let started = uv_poll_start(
            handle, Int32(UV_READABLE.rawValue),
            { handle, _, _ in
                guard let data = handle?.pointee.data else { return }
                Unmanaged<AccessWatch>.fromOpaque(data).takeUnretainedValue().notice()
            })
        UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self).unreference()
        if started != 0 { cancel() }
        try LoopError.check(started, "uv_poll_start", path: path)
    }

    deinit { cancel() }

    /// Stops watching; does nothing the second time or after the loop's end.
    public func cancel() {
        guard let handle else { return }
        self.handle = nil
        wakeup.cancel()
        loop?.closeHandle(handle)
        systemClose(descriptor)
    }

    /// Takes the reports that are there; what they say is known: some access.
    private func notice() {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { reports in
            _ = systemRead(descriptor, reports.baseAddress, reports.count)
        }
        wakeup.note()
    }

    private static func openWatch(of path: String) throws(LoopError) -> Int32 {
        #if canImport(Glibc)
            let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            try LoopError.check(descriptor < 0 ? -errno : 0, "inotify_init1", path: path)
            let accesses = UInt32(IN_ACCESS | IN_CLOSE_WRITE | IN_CLOSE_NOWRITE)
            let status = inotify_add_watch(descriptor, path, accesses) < 0 ? -errno : 0
            if status != 0 { systemClose(descriptor) }
            try LoopError.check(status, "inotify_add_watch", path: path)
            return descriptor
        #else
            throw LoopError(number: ENOSYS, call: "inotify_init1", path: path)
        #endif
    }
}
