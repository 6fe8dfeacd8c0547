import CUV

extension EventLoop {
    /// Takes over the memory of a handle that somebody else made: the loop frees it, at `closeHandle` or at its own end.
    func own<Handle>(_ handle: UnsafeMutablePointer<Handle>) {
        owned.insert(UnsafeMutableRawPointer(handle))
    }

    /// Closes and frees an owned handle, whose data nobody sees any more; does nothing when the loop has done so already.
    func closeHandle<Handle>(_ handle: UnsafeMutablePointer<Handle>) {
        preconditionOnLoop()
        guard owned.remove(UnsafeMutableRawPointer(handle)) != nil else { return }
        let closing = UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
        closing.pointee.data = nil
        // libuv lets go of a handle on a later turn only; until then its memory must stay.
        uv_close(closing, { UnsafeMutableRawPointer($0)?.deallocate() })
    }
}
