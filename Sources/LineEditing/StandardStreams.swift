import CEdit

/// The C library's standard streams, which Lua's `print` and `io` write to.
package enum StandardStreams {
    /// Sends `stdout` and `stderr` of the C library through an output from now on, for good.
    ///
    /// Descriptor 1 stays the terminal, so programs that a script starts are not affected. Before any Lua state is made,
    /// because `io.stdout` is the stream that was there then. Output is kept until its line ends.
    package static func redirect(to output: AsyncOutput) {
        // Because: streams of the process live as long as it does, and so does what they write to.
        let cookie = Unmanaged.passRetained(output).toOpaque()
        let write: shim_write_function = { cookie, bytes, count in
            guard let cookie, let bytes else { return 0 }
            let output = Unmanaged<AsyncOutput>.fromOpaque(cookie).takeUnretainedValue()
            output.write(UnsafeRawBufferPointer(start: bytes, count: count))
            return count
        }
        shim_replace_streams(shim_open_writer(cookie, write), shim_open_writer(cookie, write))
    }

    /// Hands on what the C library still keeps of an unfinished line.
    package static func flush() { shim_flush_output() }
}
