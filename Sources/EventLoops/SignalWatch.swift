import CUV
import SystemCalls

/// Calls a handler on the loop's thread when the process receives a signal.
///
/// A watch disables the default action of the signal and unblocks the signal on the loop's thread. A watch does not
/// keep the loop alive.
package final class SignalWatch {
    private weak var loop: EventLoop?
    private var handle: UnsafeMutablePointer<uv_signal_t>?
    private let wakeup: LoopWakeup

    /// Starts watching a signal by its number.
    ///
    /// Call it on the loop's thread.
    package init(_ signal: Int32, on loop: EventLoop, _ handler: @escaping () -> Void)
        throws(LoopError)
    {
        loop.preconditionOnLoop()
        self.loop = loop
        let handle = UnsafeMutablePointer<uv_signal_t>.allocate(capacity: 1)
        let status = uv_signal_init(loop.handle, handle)
        if status != 0 { handle.deallocate() }
        try LoopError.check(status, "uv_signal_init")
        loop.own(handle)
        wakeup = loop.makeWakeup(handler)
        self.handle = handle
        handle.pointee.data = Unmanaged.passUnretained(wakeup).toOpaque()
        let started = uv_signal_start(
            handle,
            { handle, _ in
                // Because: closing clears the field before the wake-up, which the watch owns, is released.
                guard let data = handle?.pointee.data else { return }
                Unmanaged<LoopWakeup>.fromOpaque(data).takeUnretainedValue().wakeFromLoop()
            }, signal)
        UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self).unreference()
        if started != 0 { cancel() }
        try LoopError.check(started, "uv_signal_start")
        // A process inherits its signal mask, and some parents block all signals.
        Signals.unblock(signal)
    }

    deinit { cancel() }

    /// Restores the previous action of the signal.
    ///
    /// Idempotent.
    package func cancel() {
        guard let handle else { return }
        self.handle = nil
        wakeup.cancel()
        loop?.closeHandle(handle)
    }
}
