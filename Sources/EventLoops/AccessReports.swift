import CUV
import SystemCalls

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
        let made = try AccessReports(loop)
        loop.accessReports = made
        return made
    }

    private init(_ loop: EventLoop) throws(LoopError) {
        let descriptor = FileAccessEvents.open(isBlocking: false)
        try LoopError.check(descriptor, "inotify_init1")
        let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
        let status = uv_poll_init(loop.handle, handle, descriptor)
        if status != 0 {
            handle.deallocate()
            systemClose(descriptor)
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
        systemClose(descriptor)
    }

    /// Adds a wake-up for every access of a file.
    func add(_ wakeup: LoopWakeup, _ path: String) throws(LoopError) {
        let number = FileAccessEvents.watch(path, in: descriptor)
        try LoopError.check(number, "inotify_add_watch", path: path)
        watchers.append((number, wakeup))
    }

    /// Removes a wake-up; idempotent.
    func remove(_ wakeup: LoopWakeup) {
        guard let index = watchers.firstIndex(where: { $0.wakeup === wakeup }) else { return }
        let number = watchers.remove(at: index).number
        if !watchers.contains(where: { $0.number == number }) {
            FileAccessEvents.unwatch(number, in: descriptor)
        }
    }

    /// Reads the pending events and marks the wake-ups of their watches, or all wake-ups if events were lost.
    private func take() {
        _ = FileAccessEvents.read(from: descriptor) { number in
            for watcher in watchers where number == nil || watcher.number == number {
                watcher.wakeup.note()
            }
        }
    }
}
