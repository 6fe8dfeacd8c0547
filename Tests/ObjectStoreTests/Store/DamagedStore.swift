import Glibc
import Testing

@testable import ObjectStore

/// The files of tests that damage stores.
enum DamagedStore {
    /// The number in an environment variable; nil if it is not set.
    static func number(_ name: String) -> Int? {
        getenv(name).flatMap { Int(String(cString: $0)) }
    }

    static func open(
        _ path: String, schema: [ClassSchema]? = nil,
        durability: StoreConfiguration.Durability = .full
    ) throws -> Store {
        try Store(
            StoreConfiguration(.file(path), schema: schema, durability: durability),
            scheduler: ManualScheduler())
    }

    static func bytes(_ path: String) -> [UInt8] {
        let file = Glibc.open(path, O_RDONLY)
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: Int(lseek(file, 0, SEEK_END)))
        _ = pread(file, &bytes, bytes.count, 0)
        return bytes
    }

    static func write(_ bytes: [UInt8], to path: String) {
        for suffix in ["", "-lock", "-log"] { unlink(path + suffix) }
        let file = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        _ = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
        close(file)
    }

    /// Returns whether `moonpool check` reports an error.
    static func isFound(_ path: String) -> Bool {
        do {
            if try StoreFiles.isEmpty(path) { return false }
            if try !StoreFiles.verifyPages(path).isEmpty { return true }
            let store = try open(path)
            defer { store.close() }
            return try !store.verify().isEmpty
        } catch { return true }
    }
}
