import CUV
import SystemCalls

/// Notifies the loop when a file, or the contents of a folder, may have changed.
///
/// Several changes before the next turn cause one call. Changes of this process count too. The handler should check the
/// file, because it may be unchanged. A watch does not keep the loop alive. Use it on the loop's thread.
package final class FileWatch {
    private weak var loop: EventLoop?
    private var handle: UnsafeMutablePointer<uv_fs_event_t>?
    private let wakeup: LoopWakeup

    /// The path of the watched file or folder.
    package let path: String

    /// Starts watching.
    ///
    /// Throws if the file does not exist or the system has no watches left.
    package init(path: String, on loop: EventLoop, _ handler: @escaping () -> Void)
        throws(LoopError)
    {
        loop.preconditionOnLoop()
        self.loop = loop
        self.path = path
        let handle = UnsafeMutablePointer<uv_fs_event_t>.allocate(capacity: 1)
        uv_fs_event_init(loop.handle, handle)
        loop.own(handle)
        wakeup = loop.makeWakeup(handler)
        self.handle = handle
        handle.pointee.data = Unmanaged.passUnretained(wakeup).toOpaque()
        let status = uv_fs_event_start(
            handle,
            { handle, _, _, _ in
                // Because: closing clears the field before the wake-up, which the watch owns, is released.
                guard let data = handle?.pointee.data else { return }
                Unmanaged<LoopWakeup>.fromOpaque(data).takeUnretainedValue().wakeFromLoop()
            }, path, 0)
        UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self).unreference()
        if status != 0 { cancel() }
        try LoopError.check(status, "uv_fs_event_start", path: path)
    }

    deinit { cancel() }

    /// Stops watching.
    ///
    /// Idempotent; has no effect after the loop has ended.
    package func cancel() {
        guard let handle else { return }
        self.handle = nil
        wakeup.cancel()
        loop?.closeHandle(handle)
    }
}

/// Notifies the loop when a process reads from a file or closes it.
///
/// Processes that have opened the same file notify each other this way.
///
/// Reading a byte is the cheapest signal available: it needs no write permission and, apart from the access time,
/// causes no disk writes. The kernel closes the files of a killed process, so a process that waits for a signal also
/// detects the end of the other process.
///
/// Several accesses before the next turn cause one call of the handler, which should check the file. Accesses of this
/// process count too; accesses through a memory map do not. A watch does not keep the loop alive. Use it on the loop's
/// thread. Linux only.
package final class AccessWatch {
    private let reports: AccessReports
    private let wakeup: LoopWakeup

    /// The watched file.
    package let path: String

    /// Starts watching.
    ///
    /// Throws if the file does not exist or the system has no watches left.
    package init(path: String, on loop: EventLoop, _ handler: @escaping () -> Void)
        throws(LoopError)
    {
        loop.preconditionOnLoop()
        self.path = path
        reports = try AccessReports.of(loop)
        wakeup = loop.makeWakeup(handler)
        do {
            try reports.add(wakeup, path)
        } catch {
            wakeup.cancel()
            throw error
        }
    }

    deinit { cancel() }

    /// Stops watching.
    ///
    /// Idempotent; has no effect after the loop has ended.
    package func cancel() {
        wakeup.cancel()
        reports.remove(wakeup)
    }
}

/// Delivers the events of inotify(7) to a loop.
///
/// All watches of a loop share one instance, which is released with the last watch. Use it on the loop's thread.
final class AccessReports {
    private weak var loop: EventLoop?
    private let descriptor: Int32
    private let handle: UnsafeMutablePointer<uv_poll_t>
    /// The wake-up for each watch number.
    ///
    /// Watches of the same file share a number.
    private var watchers: [(number: Int32, wakeup: LoopWakeup)] = []

    /// Returns the instance of a loop, and creates it if there is none.
    static func of(_ loop: EventLoop) throws(LoopError) -> AccessReports {
        if let known = loop.accessReports { return known }
        let created = try AccessReports(loop)
        loop.accessReports = created
        return created
    }

    private init(_ loop: EventLoop) throws(LoopError) {
        let descriptor = FileEvents.open(isBlocking: false)
        try LoopError.check(descriptor, "inotify_init1")
        let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
        let status = uv_poll_init(loop.handle, handle, descriptor)
        if status != 0 {
            handle.deallocate()
            close(descriptor)
        }
        try LoopError.check(status, "uv_poll_init")
        loop.own(handle)
        self.loop = loop
        self.descriptor = descriptor
        self.handle = handle
        // Because: closing, which must precede the deinitialization, clears the field.
        handle.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        let started = uv_poll_start(
            handle, Int32(UV_READABLE.rawValue),
            { handle, _, _ in
                guard let data = handle?.pointee.data else { return }
                Unmanaged<AccessReports>.fromOpaque(data).takeUnretainedValue().take()
            })
        UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self).unreference()
        try LoopError.check(started, "uv_poll_start")
    }

    deinit {
        loop?.closeHandle(handle)
        close(descriptor)
    }

    /// Adds a wake-up for every access of a file.
    func add(_ wakeup: LoopWakeup, _ path: String) throws(LoopError) {
        let number = FileEvents.watch(path, for: .accesses, in: descriptor)
        try LoopError.check(number, "inotify_add_watch", path: path)
        watchers.append((number, wakeup))
    }

    /// Removes a wake-up; idempotent.
    func remove(_ wakeup: LoopWakeup) {
        guard let index = watchers.firstIndex(where: { $0.wakeup === wakeup }) else { return }
        let number = watchers.remove(at: index).number
        if !watchers.contains(where: { $0.number == number }) {
            FileEvents.unwatch(number, in: descriptor)
        }
    }

    /// Reads the pending events and marks the wake-ups of their watches, or all wake-ups if events were lost.
    private func take() {
        _ = FileEvents.read(from: descriptor) { number in
            for watcher in watchers where number == nil || watcher.number == number {
                watcher.wakeup.wakeFromLoop()
            }
        }
    }
}
