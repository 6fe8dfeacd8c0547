import CLMDB

/// What becomes of the process when pages of a file that is open can no longer be read.
///
/// The file is mapped: where another program cuts it short, or the device fails, the system answers the next look at such
/// a page with SIGBUS, from which no code can go on.
package enum LostPages {
    /// Lets the process end with this status then, after a word of the program on standard error that names the file.
    ///
    /// The terminal is left as it is now. To be called once, at the program's start.
    package static func explain(as program: StaticString, status: Int32) {
        program.withUTF8Buffer { name in
            name.withMemoryRebound(to: CChar.self) {
                // because: a literal ends with a zero and stays.
                shim_lost_pages_explain($0.baseAddress!, status)
            }
        }
    }
}
