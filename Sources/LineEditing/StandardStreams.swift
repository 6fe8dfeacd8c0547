import CEdit

/// The C library's standard streams, which Lua's `print` and `io` write to.
package enum StandardStreams {
    /// Redirects `stdout` and `stderr` of the C library to an output permanently.
    ///
    /// Descriptor 1 remains the terminal, so programs that a script starts are not affected. Call it before a Lua state
    /// is created, because `io.stdout` keeps the stream of that time. Output is buffered until its line ends.
    package static func redirect(to output: AsyncOutput) {
        // The output is retained permanently, because the streams that write to it exist until the process ends.
        let cookie = Unmanaged.passRetained(output).toOpaque()
        let write: shim_write_function = { cookie, bytes, count in
            guard let cookie, let bytes else { return 0 }
            let output = Unmanaged<AsyncOutput>.fromOpaque(cookie).takeUnretainedValue()
            output.write(UnsafeRawBufferPointer(start: bytes, count: count))
            return count
        }
        shim_replace_streams(shim_open_writer(cookie, write), shim_open_writer(cookie, write))
    }

    /// Passes on the unfinished line that the C library has buffered.
    package static func flush() { shim_flush_output() }
}
