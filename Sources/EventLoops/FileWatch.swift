import CUV

/// Tells the loop that somebody changed a file, or what is in a folder.
///
/// Many changes before the next turn make one call. The calls come for this process's own changes as well, and a call
/// means "look", not "changed". Does not keep the loop alive. On the loop's thread.
package final class FileWatch {
    private weak var loop: EventLoop?
    private var handle: UnsafeMutablePointer<uv_fs_event_t>?
    private let wakeup: LoopWakeup

    /// The watched file.
    package let path: String

    /// Starts watching; fails when the file does not exist or the system has no watches left.
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
                // Because: closing clears the field before the wake-up, which the watch owns, can go.
                guard let data = handle?.pointee.data else { return }
                Unmanaged<LoopWakeup>.fromOpaque(data).takeUnretainedValue().note()
            }, path, 0)
        UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self).unreference()
        if status != 0 { cancel() }
        try LoopError.check(status, "uv_fs_event_start", path: path)
    }

    deinit { cancel() }

    /// Stops watching; does nothing the second time or after the loop's end.
    package func cancel() {
        guard let handle else { return }
        self.handle = nil
        wakeup.cancel()
        loop?.closeHandle(handle)
    }
}
