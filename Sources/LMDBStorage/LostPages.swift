import CLMDB

/// Decides the fate of the process when pages of an open file can no longer be read.
///
/// The file is mapped. If another program truncates it, or the device fails, the system answers the next read of such a
/// page with SIGBUS, after which code cannot continue.
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
