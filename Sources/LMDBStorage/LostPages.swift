import CLMDB

/// Ends the process with a message if pages of an open file can no longer be read.
///
/// The file is mapped. If another program truncates it, or the device fails, the next read of a missing page causes
/// SIGBUS, after which code cannot continue.
package enum LostPages {
    /// Sets the exit status and the program name; the message on standard error has the name of the file.
    ///
    /// Before the process ends, the terminal is restored to the state that it had at the call of this function. Call
    /// the function once, at the start of the program.
    package static func explain(as program: StaticString, status: Int32) {
        program.withUTF8Buffer { name in
            name.withMemoryRebound(to: CChar.self) {
                // because: a literal ends with a zero byte and exists permanently.
                shim_lost_pages_explain($0.baseAddress!, status)
            }
        }
    }
}
