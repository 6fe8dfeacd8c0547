import CLuaShims

/// A stream that replaces a standard stream of a state's `io` and writes to the host.
///
/// It must outlive the state, whose finalizers can still write.
package final class LuaStream {
    /// The stream to replace.
    package enum Kind {
        /// The stream `io.stdout`, which `io.write` uses.
        case output
        /// The stream `io.stderr`.
        case error
    }

    private let write: ([UInt8]) -> Void
    private var stream: UnsafeMutableRawPointer?

    fileprivate init(_ write: @escaping ([UInt8]) -> Void) {
        self.write = write
        // The owner closes the stream.
        stream = shim_open_stream(
            { context, bytes, count in
                guard let context else { return }
                Unmanaged<LuaStream>.fromOpaque(context).takeUnretainedValue()
                    .write([UInt8](UnsafeRawBufferPointer(start: bytes, count: count)))
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { stream.map(shim_close_stream) }

    fileprivate func use(_ kind: Kind, on L: OpaquePointer) -> Bool {
        guard let stream else { return false }
        return shim_use_stream(L, stream, kind == .error)
    }
}

extension LuaState {
    /// Replaces a standard stream of `io`; returns nil if there is not enough memory.
    ///
    /// `write` is called on the state's thread, for each piece that a script writes.
    package func useStream(
        _ kind: LuaStream.Kind, write: @escaping ([UInt8]) -> Void
    ) -> LuaStream? {
        let stream = LuaStream(write)
        return stream.use(kind, on: stack) ? stream : nil
    }
}
