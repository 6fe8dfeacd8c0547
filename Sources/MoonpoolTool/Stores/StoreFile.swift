import EventLoops
import SystemCalls

/// Distinguishes stores from scripts.
enum StoreFile {
    /// LMDB's magic number, which follows the 16-byte header of the first page in the machine's byte order.
    private static let magic: [UInt8] = [0xDE, 0xC0, 0xEF, 0xBE]

    /// Returns whether to open the file as a store: its name ends in `.moonpool`, or it has a store's content.
    ///
    /// A file with this name is never run as a script.
    static func isStore(_ path: String) -> Bool {
        if path.lowercased().hasSuffix(".moonpool") { return true }
        let field = (ProcessServices.read(path, limit: 20) ?? []).dropFirst(16)
        return field.elementsEqual(magic) || field.elementsEqual(magic.reversed())
    }
}
