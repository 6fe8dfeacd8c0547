#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension RealmWriter {
    /// Writes bytes to a file; a hole after the header uses no disk space.
    package static func write(_ bytes: [UInt8], to path: String, hole: Int = 0) {
        let file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0o600)
        guard file >= 0 else { return }
        bytes.withUnsafeBytes { bytes in
            let header = min(24, bytes.count)
            pwrite(file, bytes.baseAddress, header, 0)
            guard bytes.count > header, let rest = bytes.baseAddress?.advanced(by: header) else {
                return
            }
            pwrite(file, rest, bytes.count - header, off_t(header + hole))
        }
        close(file)
    }

    /// Overwrites the first bytes of a file.
    package static func overwrite(_ bytes: [UInt8], in path: String) {
        let file = open(path, O_WRONLY)
        guard file >= 0 else { return }
        pwrite(file, bytes, bytes.count, 0)
        close(file)
    }
}
