import ObjectStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The location of a file, which distinguishes a file from its copies.
enum FileOrigin {
    /// The machine, the device and the number of a file; `memory` for a store in memory.
    static func of(_ path: String?) -> String {
        guard let path else { return "memory" }
        var status = stat()
        guard stat(path, &status) == 0 else { return path }
        return "\(machine):\(status.st_dev):\(status.st_ino)"
    }

    /// Removes a file if it exists.
    static func remove(_ path: String) { unlink(path) }

    private static let machine: String = {
        guard let file = fopen("/etc/machine-id", "r") else { return "-" }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 64)
        guard fgets(&buffer, 64, file) != nil else { return "-" }
        return String(decoding: buffer.prefix { $0 > 32 }.map { UInt8($0) }, as: UTF8.self)
    }()
}
