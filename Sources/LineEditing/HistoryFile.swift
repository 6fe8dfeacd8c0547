#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reads and writes the file of the history.
///
/// Failures are ignored.
enum HistoryFile {
    static func read(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { Descriptor.close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = readCall(file, &buffer)
            if count <= 0 { return bytes }
            bytes += buffer[..<count]
        }
    }

    /// Appends the bytes in one system call, so that entries of several sessions never mix.
    static func append(_ path: String, _ bytes: [UInt8]) {
        makeFolder(of: path)
        // Entries can contain private data, so only the owner can read the file.
        let file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        defer { Descriptor.close(file) }
        bytes.withUnsafeBytes { Descriptor.write(file, $0) }
    }

    static func replace(_ path: String, with bytes: [UInt8]) {
        let temporary = "\(path).\(getpid())"
        unlink(temporary)
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        bytes.withUnsafeBytes { Descriptor.write(file, $0) }
        Descriptor.close(file)
        if rename(temporary, path) != 0 { unlink(temporary) }
    }

    private static func makeFolder(of path: String) {
        var index = path.startIndex
        while let slash = path[index...].dropFirst().firstIndex(of: "/") {
            mkdir(String(path[..<slash]), 0o700)
            index = slash
        }
    }
}

private func readCall(_ file: Int32, _ buffer: inout [UInt8]) -> Int {
    read(file, &buffer, buffer.count)
}
