import CUV

extension EventLoop {
    /// Takes over the memory of a handle that other code created.
    ///
    /// The loop frees it in `closeHandle` or when the loop ends.
    func own<Handle>(_ handle: UnsafeMutablePointer<Handle>) {
        owned.insert(UnsafeMutableRawPointer(handle))
    }

    /// Closes and frees an owned handle whose data is no longer used.
    ///
    /// Has no effect if the loop has already closed the handle.
    func closeHandle<Handle>(_ handle: UnsafeMutablePointer<Handle>) {
        preconditionOnLoop()
        guard owned.remove(UnsafeMutableRawPointer(handle)) != nil else { return }
        let closing = UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
        closing.pointee.data = nil
        // libuv releases a handle in a later turn, so its memory is freed then.
        uv_close(closing, { UnsafeMutableRawPointer($0)?.deallocate() })
    }
}
