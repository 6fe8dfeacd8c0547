import CUV

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
                Unmanaged<LoopWakeup>.fromOpaque(data).takeUnretainedValue().note()
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
