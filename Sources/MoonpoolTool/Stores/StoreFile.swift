import EventLoops

/// Tells a store from a script by what is in the file.
enum StoreFile {
    /// LMDB's magic number stands behind the 16 bytes of its first page's header, in the machine's byte order.
    private static let magic: [UInt8] = [0xDE, 0xC0, 0xEF, 0xBE]

    /// Whether the file is a store; also when it is empty or yet to be made, and called one.
    static func isStore(_ path: String) -> Bool {
        guard let bytes = ProcessServices.read(path, limit: 20), !bytes.isEmpty else {
            return path.hasSuffix(".moonpool")
        }
        let field = bytes.dropFirst(16)
        return field.elementsEqual(magic) || field.elementsEqual(magic.reversed())
    }
}
