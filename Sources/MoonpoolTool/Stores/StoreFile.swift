import EventLoops

/// Distinguishes stores from scripts by the content of the file.
enum StoreFile {
    /// LMDB's magic number, which follows the 16-byte header of the first page in the machine's byte order.
    private static let magic: [UInt8] = [0xDE, 0xC0, 0xEF, 0xBE]

    /// Returns whether the file is a store.
    ///
    /// An empty or missing file counts as a store if its name ends in `.moonpool`.
    static func isStore(_ path: String) -> Bool {
        guard let bytes = ProcessServices.read(path, limit: 20), !bytes.isEmpty else {
            return path.hasSuffix(".moonpool")
        }
        let field = bytes.dropFirst(16)
        return field.elementsEqual(magic) || field.elementsEqual(magic.reversed())
    }
}
